// Goal: generators, the job log of Philly and the ledger become the jobs that they describe; what
// does not fit is refused with line and column.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/generator_file.h"
#include "cli/ledger_workload.h"
#include "cli/philly_log.h"

namespace berth::cli {
namespace {

using simulation::RandomSpan;
using std::chrono_literals::operator""s;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kGenerator[] = R"(# A day.
kind: JobGenerator
sources:
- queue: team-a/main
  class: urgent
  count: 200
  start: 1m
  every: {exponential: {mean: 30s}}
  run: {lognormal: {median: 10m, sigma: 1.5}}
  failing: 0.05
  pods: 2
  gpu: 1
- run: 20
  linger: {uniform: {from: 60, to: 90s}}
  shapes: [{weight: 3, cpu: 500m}, {memory: 4Gi}]
  stages: [{stages: 10, min: 1, max: 2, variation: 1}, {min: 5}]
)";

TEST(GeneratorFileTest, EveryFieldOfASourceIsRead) {
  ASSERT_TRUE(IsGenerator(kGenerator));
  const auto sources = ReadGenerator(kGenerator);
  ASSERT_TRUE(sources) << sources.error().message;
  ASSERT_EQ(sources->size(), 2U);
  const simulation::JobSource& first = (*sources)[0];
  EXPECT_EQ(first.queue, "team-a/main");
  EXPECT_EQ(first.priority, "urgent");
  EXPECT_EQ(first.count, 200);
  EXPECT_EQ(first.start, Duration(60s));
  EXPECT_EQ(first.between.kind, RandomSpan::Kind::kExponential);
  EXPECT_EQ(first.between.first, Duration(30s));
  EXPECT_EQ(first.run.first, Duration(600s));
  EXPECT_EQ(first.run.sigma, 1.5);
  EXPECT_EQ(first.failing, 0.05);
  ASSERT_EQ(first.shapes.size(), 1U);
  EXPECT_EQ(first.shapes[0].pods, 2);
  EXPECT_EQ(first.shapes[0].requests, (api::ResourceAmounts{{"nvidia.com/gpu", 1}}));
  const simulation::JobSource& second = (*sources)[1];
  EXPECT_EQ(second.run.first, Duration(20s));
  EXPECT_EQ(second.linger.last, Duration(90s));
  ASSERT_EQ(second.shapes.size(), 2U);
  EXPECT_EQ(second.shapes[0].requests.at("cpu"), 500);
  ASSERT_EQ(second.phases.size(), 2U);
  EXPECT_EQ(second.phases[0].variation, 1);
  EXPECT_EQ(second.phases[1].max, 5);
}

TEST(GeneratorFileTest, WrongFieldIsRefusedWithLineAndColumn) {
  struct GeneratorRow {
    const char* text;
    const char* error;
  };
  for (const GeneratorRow& row : {
           GeneratorRow{"kind: JobGenerator\n", "sources: the field is missing"},
           {"kind: JobGenerator\nsources: []\n", "line 2, column 10: sources: expected a list"},
           {"kind: JobGenerator\nsources:\n- count: 3\n", "line 3, column 3: run: the field is"},
           {"kind: JobGenerator\nsources:\n- run: soon\n", "line 3, column 8: run: expected sec"},
           {"kind: JobGenerator\nsources:\n- run: {normal: 3}\n", "\"normal\" is no distribution"},
           {"kind: JobGenerator\nsources:\n- run: {uniform: {from: 9, to: 3}}\n",
            "\"to\" is below \"from\""},
           {"kind: JobGenerator\nsources:\n- run: 1\n  conut: 3\n",
            "line 4, column 3: sources: \"conut\" is not a field"},
           {"kind: JobGenerator\nsources:\n- run: 1\n  failing: 2\n",
            "line 4, column 12: failing: expected a number from 0 to 1"},
           {"kind: JobGenerator\nsources:\n- run: 1\n  count: 0\n",
            "line 4, column 10: count: expected a whole number from 1"},
           {"kind: JobGenerator\nsources:\n- run: 1\n  gpu: -1\n", "line 4, column 8: gpu"},
           {"kind: JobGenerator\nsources:\n- run: 1\n  stages: [{min: 3, max: "
            "2}]\n",
            "max: expected \"min\" or more"},
           {"kind: JobGenerator\nsources:\n- run: 1\n  count: 2\n  stages: "
            "[{}]\n",
            "not allowed in a source with stages"},
           {"kind: JobGenerator\nsources: [\n", "line 3"},
       }) {
    const auto read = ReadGenerator(row.text);
    ASSERT_FALSE(read) << row.text;
    EXPECT_THAT(read.error().message, HasSubstr(row.error)) << row.text;
  }
}

// The entry of the description of the trace, and a job that was never placed.
constexpr char kLog[] = R"([
{"status": "Failed", "vc": "ee9e8c", "jobid": "application_14199",
 "attempts": [
  {"start_time": "2017-10-07 01:12:09", "end_time": "2017-10-07 01:13:23",
   "detail": [{"ip": "m47", "gpus": ["gpu0", "gpu1"]}]},
  {"start_time": "2017-10-07 01:13:30", "end_time": "2017-10-07 02:13:30",
   "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu0", "gpu1"]}]}],
 "submitted_time": "2017-10-07 01:11:39", "user": "ce2f4c"},
{"status": "Killed", "vc": "b", "jobid": "application_2", "attempts": [],
 "submitted_time": "2017-10-07 01:11:40", "user": "x"},
{"status": "Pass", "vc": "b", "jobid": "application_3", "attempts": [
  {"start_time": "2017-10-07 01:12:09", "end_time": "None",
   "detail": [{"ip": "m1", "gpus": ["gpu0"]}, {"ip": "m2", "gpus": ["gpu0", "gpu1"]}]},
  {"start_time": "2017-10-07 01:13:00 PDT", "end_time": "2017-10-07 01:13:10 PDT", "detail": []}],
 "submitted_time": "2017-10-07 01:11:41", "user": "x"}
])";

TEST(PhillyTest, AJobTakesItsRunAndPodsFromItsAttempts) {
  ASSERT_TRUE(IsPhillyLog(kLog));
  const auto trace = ReadPhillyLog(kLog);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->skipped, 1);
  ASSERT_EQ(trace->jobs.size(), 2U);
  const simulation::TraceJob& job = trace->jobs[0];
  EXPECT_EQ(job.origin, "ee9e8c");
  EXPECT_EQ(job.run, Duration(74s + 3600s));
  EXPECT_EQ(job.pods, 2);
  EXPECT_EQ(job.requests, (api::ResourceAmounts{{"nvidia.com/gpu", 2}}));
  EXPECT_TRUE(job.failed);
  EXPECT_FALSE(trace->jobs[1].failed);
  EXPECT_EQ(trace->unit, simulation::TraceUnit::kJob);
  EXPECT_EQ(trace->jobs[1].submit - job.submit, Duration(2s));
  EXPECT_EQ(trace->jobs[1].pods, 3);  // servers with one and with two GPUs
  EXPECT_EQ(trace->jobs[1].run, Duration(10s));
}

TEST(PhillyTest, WrongTimeOrAttemptsAreRefusedWithTheirPlace) {
  std::string wrong = kLog;
  wrong.replace(wrong.rfind("2017-10-07 01:11:41"), 10, "yesterday ");
  EXPECT_THAT(ReadPhillyLog(wrong).error().message,
              StartsWith("line 11, column 40: job application_3: submitted_time: "));
  EXPECT_THAT(ReadPhillyLog("[{\"attempts\": \n 7,, }]").error().message, StartsWith("line 2, "));
  EXPECT_THAT(ReadPhillyLog("{}").error().message, HasSubstr("expected a list of jobs"));
  EXPECT_THAT(ReadPhillyLog("[{\"submitted_time\": \"2017-10-07 01:11:41\"}]").error().message,
              HasSubstr("attempts: expected a list"));
}

ledger::AttemptRecord Attempt(const char* uid, std::int64_t number, const char* outcome) {
  return {.uid = uid,
          .attempt = number,
          .namespace_name = "team",
          .local_queue = "main",
          .priority = 7,
          .created = 1000,
          .admitted = 2000 + number * 100,
          .ended = 2000 + number * 100 + 60 * number,
          .outcome = outcome,
          .user = "ann",
          .declared = 600,
          .resources = {{"t4", "nvidia.com/gpu", 8}, {"t4", "pods", 4}}};
}

TEST(LedgerWorkloadTest, AttemptsOfAWorkloadBecomeOneJob) {
  const simulation::Trace trace =
      TraceOfAttempts({Attempt("a", 1, ledger::kPreempted), Attempt("a", 2, ledger::kSucceeded),
                       Attempt("b", 1, ledger::kDeleted)});
  EXPECT_EQ(trace.skipped, 1);
  ASSERT_EQ(trace.jobs.size(), 1U);
  const simulation::TraceJob& job = trace.jobs[0];
  EXPECT_EQ(job.queue, "team/main");
  EXPECT_EQ(job.priority, "7");
  EXPECT_EQ(job.submit, Duration(1000s));
  EXPECT_EQ(job.run, Duration(120s));
  EXPECT_EQ(job.pods, 4);
  EXPECT_EQ(job.requests, (api::ResourceAmounts{{"nvidia.com/gpu", 2}}));
  EXPECT_FALSE(job.failed);
  EXPECT_EQ(job.walltime, 600);
  EXPECT_EQ(job.user, "ann");
  EXPECT_TRUE(TraceOfAttempts({Attempt("c", 1, ledger::kFailed)}).jobs.at(0).failed);
}

}  // namespace
}  // namespace berth::cli

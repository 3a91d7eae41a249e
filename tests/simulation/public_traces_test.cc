// Goal: the traces of Alibaba's GPU clusters are read as their authors describe them, and what does
// not fit is refused with line and column.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulation/spread.h"
#include "simulation/trace.h"

namespace berth::simulation {
namespace {

using std::chrono_literals::operator""s;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kPods[] =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,"
    "deletion_time,scheduled_time\n"
    "openb-pod-0017,88000,327680,8,1000,,Burstable,Succeeded,100,1100,200\n"
    "openb-pod-0022,4000,15258,1,220,nan,BE,Failed,150.0,400,150\n"
    "openb-pod-0023,4000,15258,0,0,,LS,Pending,150,,\n";

constexpr char kTasks[] =
    "4f05,tensorflow,2.0,Terminated,1739162.0,1739200.0,600.0,29.296875,50.0,"
    "MISC\n"
    "4f06,worker,1.0,Running,1739163.0,,600.0,,100.0,T4\n";

TEST(AlibabaTest, EachScheduledPodBecomesAJob) {
  ASSERT_EQ(FormatOf("x.csv", kPods), TraceFormat::kAlibabaPods);
  const auto trace = ReadTrace(FormatOf("x.csv", kPods), kPods);
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->skipped, 1);
  const TraceJob& job = trace->jobs[0];
  EXPECT_EQ(job.submit, Duration(100s));
  EXPECT_EQ(job.run, Duration(900s));  // from its placement
  EXPECT_EQ(job.requests,
            (api::ResourceAmounts{
                {"cpu", 88'000}, {"memory", 327'680LL * 1024 * 1024}, {"nvidia.com/gpu", 8}}));
  EXPECT_EQ(job.origin, "Burstable");
  EXPECT_EQ(trace->jobs[1].requests.at("nvidia.com/gpu"), 1);
  EXPECT_FALSE(job.failed);
  EXPECT_TRUE(trace->jobs[1].failed);
}

TEST(AlibabaTest, EachEndedTaskBecomesAJobOfItsInstances) {
  ASSERT_EQ(FormatOf("pai_task_table.csv", kTasks), TraceFormat::kAlibabaTasks);
  const auto trace = ReadTrace(TraceFormat::kAlibabaTasks, kTasks);
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 1U);
  EXPECT_EQ(trace->skipped, 1);
  const TraceJob& job = trace->jobs[0];
  EXPECT_EQ(job.pods, 2);
  EXPECT_EQ(job.run, Duration(38s));
  EXPECT_EQ(job.requests.at("cpu"), 6000);
  EXPECT_EQ(job.requests.at("nvidia.com/gpu"), 1);
  EXPECT_EQ(job.requests.at("memory"), 31'457'280'000);
  EXPECT_EQ(job.origin, "MISC");
  EXPECT_FALSE(job.failed);
  EXPECT_TRUE(ReadAlibabaTasks("a,b,1,Failed,1,2,1,1,1,T4\n")->jobs.at(0).failed);
  const std::string with_names =
      "job_name,task_name,inst_num,status,start_"
      "time,end_time,plan_cpu,plan_mem,plan_gpu,"
      "gpu_type\n" +
      std::string(kTasks);
  ASSERT_EQ(FormatOf("", with_names), TraceFormat::kAlibabaTasks);
  EXPECT_EQ(ReadAlibabaTasks(with_names)->jobs.size(), 1U);
}

TEST(AlibabaTest, WrongFieldIsRefusedWithLineAndColumn) {
  const auto pods = [](const std::string& row) {
    return ReadAlibabaPods(std::string(kPods) + row).error().message;
  };
  EXPECT_THAT(pods("x,many,1,1,1,,BE,Running,1,2,1\n"), StartsWith("line 5, column 3: cpu_milli"));
  EXPECT_THAT(pods("x,1,1\n"), HasSubstr("the row has 3 fields, expected 11"));
  EXPECT_THAT(pods("\"x,1\n"), StartsWith("line 5, column 1: the quote"));
  EXPECT_THAT(ReadAlibabaPods("name,cpu_milli,memory_mib\n").error().message,
              StartsWith("line 1, column 1: the header has no column num_gpu"));
  const auto tasks = [](const std::string& row) {
    return ReadAlibabaTasks(std::string(kTasks) + row).error().message;
  };
  EXPECT_THAT(tasks("a,b,0.5,Running,1,2,1,1,1,T4\n"), StartsWith("line 3, column 5: inst_num"));
  EXPECT_THAT(tasks("a,b,1,Running,1,soon,1,1,1,T4\n"), StartsWith("line 3, column 17: end_time"));
  EXPECT_THAT(tasks("a,b,1,Running,1,2,1,1,99999999999,T4\n"), HasSubstr("plan_gpu"));
}

Report ReportWith(double wait, const std::string& queue) {
  Report report;
  report.total.figures.wait_mean = wait;
  report.rows.push_back({.local_queue = queue, .figures = {.wait_mean = wait}});
  return report;
}

TEST(SpreadTest, SpreadHasMeansExtremesAndDeviations) {
  std::vector<Report> reports{ReportWith(1, "a"), ReportWith(5, "b")};
  reports[0].total.figures.used["cpu"] = 6;
  reports[1].total.figures.used["nvidia.com/gpu"] = 3;
  reports[1].total.figures.utilisation["cpu"] = 0.5;
  const SpreadReport spread = SpreadOf(reports);
  EXPECT_EQ(spread.runs, 2);
  // A resource that a run lacks counts as 0.
  EXPECT_DOUBLE_EQ(spread.total.used.at("cpu").mean, 3);
  EXPECT_DOUBLE_EQ(spread.total.used.at("cpu").least, 0);
  EXPECT_DOUBLE_EQ(spread.total.used.at("nvidia.com/gpu").most, 3);
  EXPECT_DOUBLE_EQ(spread.total.utilisation.at("cpu").mean, 0.25);
  EXPECT_TRUE(spread.total.destroyed.empty());
  const std::size_t mean = 3;  // waitMean among Measures()
  ASSERT_STREQ(Measures()[mean].name, "waitMean");
  EXPECT_DOUBLE_EQ(spread.total.measures[mean].mean, 3);
  EXPECT_DOUBLE_EQ(spread.total.measures[mean].deviation, std::sqrt(8.0));
  EXPECT_DOUBLE_EQ(spread.total.measures[mean].least, 1);
  EXPECT_DOUBLE_EQ(spread.total.measures[mean].most, 5);
  ASSERT_EQ(spread.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(spread.rows[1].measures[mean].mean,
                   2.5);  // 0 in the first run
}

TEST(SpreadTest, RunsComparedWithThemselvesDifferInNothing) {
  const std::vector<Report> runs{ReportWith(1, "a"), ReportWith(5, "a")};
  const SpreadReport spread = SpreadOfDifferences(runs, runs);
  for (const Spread& each : spread.total.measures) {
    EXPECT_EQ(each.mean, 0);
    EXPECT_EQ(each.deviation, 0);
  }
}

}  // namespace
}  // namespace berth::simulation

// Goal: a workload is read whole, or refused with the line and the column of the first fault.
// Method: small texts; a table of faults with the whole message of each.
#include "simulation/trace.h"

#include <gtest/gtest.h>

namespace berth::simulation {
namespace {

using std::chrono::seconds;

struct FaultRow {
  const char* text;
  const char* message;
};

TEST(CsvTest, ReadsEveryColumn) {
  const auto trace = ReadCsv(
      "\xEF\xBB\xBFsubmit, "
      "queue,priority,pods,cpu,memory,gpu,run,user,walltime,status,example.com/device\r\n"
      "# a remark\n"
      "\n"
      "0,a,high,2,500m,1Gi,1,60,ann,50,Failed,3\r\n"
      "1.5,\"team/b\",-5,,2,,,1h30m,\"bob, \"\"the\"\" second\",,succeeded,\n");
  ASSERT_TRUE(trace) << trace.error().message;
  const std::vector<TraceJob> expected{{.line = 4,
                                        .submit = seconds(0),
                                        .run = seconds(60),
                                        .queue = "a",
                                        .priority = "high",
                                        .pods = 2,
                                        .requests = {{"cpu", 500},
                                                     {"memory", 1 << 30},
                                                     {"nvidia.com/gpu", 1},
                                                     {"example.com/device", 3}},
                                        .failed = true,
                                        .user = "ann",
                                        .walltime = 50},
                                       {.line = 5,
                                        .submit = std::chrono::milliseconds(1500),
                                        .run = seconds(5400),
                                        .queue = "team/b",
                                        .priority = "-5",
                                        .pods = 1,
                                        .requests = {{"cpu", 2000}},
                                        .user = "bob, \"the\" second"}};
  EXPECT_EQ(trace->jobs, expected);
  EXPECT_EQ(trace->skipped, 0);
}

// A Workload declares whole seconds: parts of one count as one.
TEST(CsvTest, ReadsDeclaredMaxima) {
  const auto trace =
      ReadCsv("submit,run,Walltime\n0,1,1.5\n0,1,1h30m\n0,1,1-00:00:00\n0,1,2147483647\n0,1,\n");
  ASSERT_TRUE(trace) << trace.error().message;
  std::vector<std::optional<std::int32_t>> walltimes;
  for (const TraceJob& job : trace->jobs) walltimes.push_back(job.walltime);
  EXPECT_EQ(walltimes,
            (std::vector<std::optional<std::int32_t>>{2, 5400, 86400, 2147483647, std::nullopt}));
}

TEST(CsvTest, ReadsTimes) {
  const auto trace =
      ReadCsv("submit,run\n2026-01-31T08:00:00Z,10\n2026-01-31T09:00:01+01:00,0.000001\n");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->jobs[1].submit - trace->jobs[0].submit, seconds(1));
  EXPECT_EQ(trace->jobs[1].run, Duration(1));
}

TEST(CsvTest, ReadsRunTimesInEveryUsualForm) {
  const struct {
    const char* text;
    Duration run;
  } rows[] = {{"1d", std::chrono::hours(24)},
              {"2d4h", std::chrono::hours(52)},
              {"01:30:00", std::chrono::minutes(90)},
              {"1-02:00:00.5", std::chrono::hours(26) + std::chrono::milliseconds(500)},
              {"100:00:01", std::chrono::hours(100) + seconds(1)},
              {"3.6e+03", std::chrono::hours(1)},
              {".5", std::chrono::milliseconds(500)}};
  for (const auto& row : rows) EXPECT_EQ(ParseRunTime(row.text), row.run) << row.text;
  for (const char* wrong :
       {"", "d", "1d-1h", "-1d", "1-", "1-1h", "01:60:00", "01:00:60", "1:2", "::", "99999999999d",
        "99999999999:00:00", "73000d1h", "1e99", "nan", "inf", "-0", "0x10"}) {
    EXPECT_EQ(ParseRunTime(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(ParseTraceTime("2019-05-21 17:40:02"), ParseTraceTime("2019-05-21T17:40:02Z"));
  EXPECT_EQ(ParseTraceTime("2019-05-21 19:40:02.5+02:00"),
            *ParseTraceTime("2019-05-21T17:40:02Z") + std::chrono::milliseconds(500));
  EXPECT_EQ(ParseTraceTime("2019-05-21"), std::nullopt);
}

// Spreadsheets and other clusters write such files.
TEST(CsvTest, UnknownColumnsAreNamedAndNotRead) {
  const auto trace =
      ReadCsv("job_id,submit,run,pods,exit code,\n7,0,1d,4.0,anything,\n8,1,1,1,,\n");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->jobs[0].run, std::chrono::hours(24));
  EXPECT_EQ(trace->jobs[0].pods, 4);
  EXPECT_EQ(trace->unread_columns, (std::vector<std::string>{"job_id", "exit code"}));
  const auto trailing = ReadCsv("submit,run\n0,1,\n");
  ASSERT_TRUE(trailing) << trailing.error().message;
  EXPECT_EQ(trailing->jobs.size(), 1U);
}

TEST(CsvTest, NamesLineAndColumnOfAFault) {
  const std::string wide = "submit,run\n0," + std::string(70'000, '1') + "\n";
  const FaultRow rows[] = {
      {"", "line 1, column 1: no header: expected a line such as submit,queue,pods,cpu,run"},
      {"submit,cpu\n", "line 1, column 1: the header has no column run"},
      {"run\n", "line 1, column 1: the header has no column submit"},
      {"submit,run,RUN\n", "line 1, column 12: run is there twice"},
      {"submit,run,gpu,nvidia.com/gpu\n", "line 1, column 16: nvidia.com/gpu is there twice"},
      {"submit,run,qeue\n",
       "line 1, column 12: \"qeue\" is no column: expected submit, run, queue, priority, class, "
       "pods, user, walltime, status, cpu, memory, gpu or a resource such as "
       "example.com/device; did you mean queue?"},
      {"submit,run\n0,1\n0\n", "line 3, column 1: the row has 1 fields, the header 2"},
      {"submit,run\n0,1,2\n", "line 2, column 5: the row has 3 fields, the header 2"},
      {"submit,run\n-1,1\n",
       "line 2, column 1: submit: \"-1\" is no number of seconds and no time such as "
       "2026-01-31T08:00:00Z"},
      {"submit,run\n0,1\n2026-01-31T08:00:00Z,1\n",
       "line 3, column 1: submit: seconds and times are mixed in one file"},
      {"submit,run\n0,soon\n",
       "line 2, column 3: run: \"soon\" is no number of seconds and no duration such as 1h30m, "
       "1d or 01:30:00"},
      {"submit,run\n0,99999999999999999999\n",
       "line 2, column 3: run: \"99999999999999999999\" is no number of seconds and no duration "
       "such as 1h30m, 1d or 01:30:00"},
      {"submit,run,pods\n0,1,0\n",
       "line 2, column 5: pods: \"0\" is no number of pods from 1 to 1000000"},
      {"submit,cpu,run\n0,-1,1\n",
       "line 2, column 3: cpu: \"-1\" is no quantity of 0 or more, such as 4, 500m or 16Gi"},
      {"submit,run,status\n0,1,Lost\n",
       "line 2, column 5: status: \"Lost\" is no status: expected succeeded or failed"},
      {"submit,walltime,run\n0,0,1\n",
       "line 2, column 3: walltime: \"0\" is no declared maximum: expected seconds from 1 to "
       "2147483647, a duration such as 1h30m, 1d or 01:30:00, or nothing"},
      {"submit,run,walltime\n0,1,2147483648\n",
       "line 2, column 5: walltime: \"2147483648\" is no declared maximum: expected seconds from 1 "
       "to 2147483647, a duration such as 1h30m, 1d or 01:30:00, or nothing"},
      {"submit,run,queue\n0,1,\"a\n", "line 2, column 5: the quote is not closed in its line"},
      {"submit,run,queue\n0,1,\"a\"b\n",
       "line 2, column 8: expected a comma after the closing quote"},
      {wide.c_str(), "line 2, column 65537: the line is longer than 65536 bytes"},
  };
  for (const FaultRow& row : rows) {
    const auto trace = ReadCsv(row.text);
    ASSERT_FALSE(trace) << row.message;
    EXPECT_EQ(trace.error().message, row.message);
    EXPECT_EQ(trace.error().code, ErrorCode::kInvalid);
  }
}

TEST(SwfTest, ReadsProcessorsAndRunTimes) {
  const auto trace = ReadSwf(
      "; UnixStartTime: 0\n"
      "  1  0 5 100 4 -1 -1 8 200 -1 1 3 1 -1 2 -1 -1 -1\n"
      "2 10 -1 60.5 16 50.25 -1 -1 -1 -1 0 4 1 -1 -1 -1 -1 -1\r\n"
      "3 20 -1 -1 -1 -1 -1 4 100 -1 5 3 1 -1 2 -1 -1 -1\n"
      "4 30 -1 0 4 -1 -1 4 100 -1 5 3 1 -1 2 -1 -1 -1\n");
  ASSERT_TRUE(trace) << trace.error().message;
  const std::vector<TraceJob> expected{{.line = 2,
                                        .submit = seconds(0),
                                        .run = seconds(100),
                                        .queue = "",
                                        .priority = "",
                                        .pods = 8,
                                        .requests = {{"cpu", 1000}},
                                        .origin = "queue:2",
                                        .user = "user:3",
                                        .walltime = 200},
                                       {.line = 3,
                                        .submit = seconds(10),
                                        .run = std::chrono::milliseconds(60'500),
                                        .queue = "",
                                        .priority = "",
                                        .pods = 16,
                                        .requests = {{"cpu", 1000}},
                                        .failed = true,
                                        .origin = "",
                                        .user = "user:4"}};
  EXPECT_EQ(trace->jobs, expected);
  EXPECT_EQ(trace->skipped, 2);
}

// Rows as archives have them: only the fields that are read must be numbers.
TEST(SwfTest, IgnoresMalformedFieldsThatItDoesNotRead) {
  const auto trace = ReadTrace(TraceFormat::kSwf,
                               "\xEF\xBB\xBF"
                               "; header\n"
                               "1 0 ? 100 4 n/a 99999999999999999999 8.0 -1 ? 1 3 1 x 2 y z w\n"
                               "2 10 -1 1e2 4.0 -1 -1 -1 -1 -1 0.0\n"
                               "3 1.5e1 -1 100 4 -1 -1 -1 -1 -1 1 3 1 -1 2 -1 -1 -1 7 8 ; more\n"
                               "4 20 -1 100 4 -1 -1 -1 -1 -1 1;the end\n");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 4U);
  for (const TraceJob& job : trace->jobs) EXPECT_EQ(job.run, seconds(100)) << job.line;
  EXPECT_EQ(trace->jobs[0].pods, 8);
  EXPECT_EQ(trace->jobs[0].origin, "queue:2");
  EXPECT_EQ(trace->jobs[1].pods, 4);
  EXPECT_TRUE(trace->jobs[1].failed);
  EXPECT_EQ(trace->jobs[1].user, "");
  EXPECT_EQ(trace->jobs[2].submit, seconds(15));
  EXPECT_EQ(trace->jobs[3].pods, 4);
}

// A requested time that no Workload can declare is none.
TEST(SwfTest, ReadsRequestedTimes) {
  const auto trace = ReadSwf(
      "1 0 5 100 4 -1 -1 8 59.5 -1 1\n"
      "2 0 5 100 4 -1 -1 8 0 -1 1\n"
      "3 0 5 100 4 -1 -1 8 4294967295 -1 1\n");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 3U);
  EXPECT_EQ(trace->jobs[0].walltime, 60);
  EXPECT_EQ(trace->jobs[1].walltime, std::nullopt);
  EXPECT_EQ(trace->jobs[2].walltime, std::nullopt);
}

TEST(SwfTest, NamesLineAndColumnOfAFault) {
  const FaultRow rows[] = {
      {"; x\n1 2 3\n", "line 2, column 6: the row has 3 fields, expected 18"},
      {"1 0 5 100 4 -1 -1 8 200 -1 1 3 1 -1 2 -1 -1 -1 9 9 9 9 9 9 9 9 9 9 9 9 7\n",
       "line 1, column 72: more than 30 fields"},
      {"1 0 5 long 4 -1 -1 8 200 -1 1 3 1 -1 2 -1 -1 -1\n",
       "line 1, column 7: run time (field 4): expected a number, or -1 where it is unknown"},
      {"1 0 5 1e99 4 -1 -1 8 200 -1 1 3 1 -1 2 -1 -1 -1\n",
       "line 1, column 7: run time (field 4): expected a number, or -1 where it is unknown"},
      {"1 0 5 nan 4 -1 -1 8 200 -1 1 3 1 -1 2 -1 -1 -1\n",
       "line 1, column 7: run time (field 4): expected a number, or -1 where it is unknown"},
      {"1 0 5 100 4 -1 -1 8 day -1 1 3 1 -1 2 -1 -1 -1\n",
       "line 1, column 21: requested time (field 9): expected a number, or -1 where it is unknown"},
      {"1 0 5 100 4 -1 -1 1.5 200 -1 1 3 1 -1 2 -1 -1 -1\n",
       "line 1, column 19: requested processors: expected a whole number up to 1000000"},
      {"1 0 5 100 4 -1 -1 2000000 200 -1 1 3 1 -1 2 -1 -1 -1\n",
       "line 1, column 19: requested processors: expected a whole number up to 1000000"},
  };
  for (const FaultRow& row : rows) {
    const auto trace = ReadSwf(row.text);
    ASSERT_FALSE(trace) << row.message;
    EXPECT_EQ(trace.error().message, row.message);
  }
}

TEST(TraceTest, AByteOrderMarkIsNoPartOfATrace) {
  EXPECT_EQ(FormatOf("-", "\xEF\xBB\xBF; x\n"), TraceFormat::kSwf);
  const auto trace = ReadTrace(TraceFormat::kCsv, "\xEF\xBB\xBFsubmit,cpu,run\n0,1,60\n");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->jobs.size(), 1U);
}

TEST(TraceTest, KnowsTheFormatByNameOrContent) {
  EXPECT_EQ(FormatOf("log.SWF", "submit,run"), TraceFormat::kSwf);
  EXPECT_EQ(FormatOf("log.csv", "; x"), TraceFormat::kCsv);
  EXPECT_EQ(FormatOf("log", "\n; x\n"), TraceFormat::kSwf);
  EXPECT_EQ(FormatOf("-", "1 0 5 100"), TraceFormat::kSwf);
  EXPECT_EQ(FormatOf("-", "submit,run\n"), TraceFormat::kCsv);
  EXPECT_EQ(FormatOf("-", ""), TraceFormat::kCsv);
}

}  // namespace
}  // namespace berth::simulation

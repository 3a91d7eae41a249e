// Goal: an output file is complete or absent; reports state the counts.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/haversine/output_file.h"
#include "jobs/haversine/text_report.h"
#include "tests/jobs/haversine/memory_reader.h"

namespace berth::haversine {
namespace {

using testing::HasSubstr;

TEST(OutputFile, AppearsAtItsPathOnlyAfterFinish) {
  const ScratchFolder folder;
  const std::string path = folder.Path("km");
  {
    auto file = OutputFile::Create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Append(std::string_view("abc")));
    ASSERT_TRUE(file->Append(std::string_view("def")));
    EXPECT_FALSE(std::filesystem::exists(path));
    ASSERT_TRUE(file->Finish());
  }
  EXPECT_EQ(ReadFile(path), "abcdef");
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
}

TEST(OutputFile, LeavesNothingBehindWithoutFinish) {
  const ScratchFolder folder;
  {
    auto file = OutputFile::Create(folder.Path("km"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Append(std::string_view("abc")));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(OutputFile, CreateReportsWhyThePathCannotBeCreated) {
  const auto file = OutputFile::Create("/nonexistent/km");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, "/nonexistent/km: cannot be created: No such file or directory");
}

Outcome SomeOutcome() {
  Outcome outcome;
  outcome.counts = {1'234'567, 1'234'500, 60, 4, 3};
  outcome.first_bad = {17, "column pickup_latitude: \"x\" is not a number"};
  outcome.summary.rows = 1'234'500;
  outcome.summary.sum_km = 2'469'000;
  outcome.summary.max_km = 55.5;
  outcome.summary.bins[0] = 600'000;
  outcome.summary.bins[2] = 634'499;
  outcome.summary.bins[40] = 1;
  outcome.seconds = 0.5;
  outcome.check = {100, 0, 1e-12, ""};
  return outcome;
}

TEST(Report, TheTextReportStatesCountsFaultsAndTheHistogram) {
  const std::string text = TextReport(SomeOutcome(), {"trips.csv", "cpu"});
  EXPECT_THAT(text, HasSubstr("1,234,567 read: 1,234,500 computed, 60 with a zero coordinate, "
                              "4 impossible, 3 malformed"));
  EXPECT_THAT(text, HasSubstr("first malformed: line 17: column pickup_latitude: \"x\""));
  EXPECT_THAT(text, HasSubstr("mean       2.000000 km\nmaximum    55.500000 km\n"));
  EXPECT_THAT(text, HasSubstr("100 rows against long double: 0 differ"));
  EXPECT_THAT(text, HasSubstr(" 2 to  3 km"));
  EXPECT_THAT(text, HasSubstr("40 km and more               1"));
}

TEST(Report, TheJsonReportEscapesTextAndStatesTheCounts) {
  const std::string json = JsonReport(SomeOutcome(), {"a \"b\"\n.csv", "cpu"});
  EXPECT_THAT(json, HasSubstr(R"("input":"a \"b\"\u000a.csv")"));
  EXPECT_THAT(json, HasSubstr(R"("rowsRead":1234567,"rowsComputed":1234500,"rowsZero":60,)"));
  EXPECT_THAT(json, HasSubstr(R"("meanKm":2,"maxKm":55.5,)"));
  EXPECT_THAT(json, HasSubstr(R"("checked":100,"checkFailed":0,)"));
}

TEST(Report, CountsHaveACommaBeforeEveryThreeDigits) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(1000), "1,000");
  EXPECT_EQ(WithCommas(146112989), "146,112,989");
}

}  // namespace
}  // namespace berth::haversine

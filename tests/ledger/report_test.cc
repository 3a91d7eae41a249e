// Goal: accounts add up: waits by cause cover the wait, hours are those inside the period, and what
// preemptions destroyed is counted.
// Method: whole lines of small histories.
#include "ledger/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ledger/records.h"

namespace berth::ledger {
namespace {

using test::Admitted;
using test::Ended;
using test::Pending;
using ::testing::ElementsAre;

constexpr Seconds kHour = 3600;

std::vector<AttemptRecord> History() {
  const Seconds t = 10 * kHour;
  AttemptRecord stopped =
      Ended(Admitted("a", t, t + kHour), t + 3 * kHour, kPreempted, "InClusterQueue");
  AttemptRecord again =
      Ended(Admitted("a", t + 3 * kHour, t + 4 * kHour, 2), t + 5 * kHour, kSucceeded);
  AttemptRecord other = Pending("b", t + kHour);
  other.namespace_name = "team-b";
  other.local_queue = "other";
  other.labels = "team=text";
  return {stopped, again, other};
}

TEST(ReportTest, ByQueue) {
  const Period period{0, 20 * kHour};
  EXPECT_THAT(MakeReport(History(), ReportBy::kQueue, "", period),
              ElementsAre(ReportLine{.key = "team-a/main",
                                     .workloads = 1,
                                     .attempts = 2,
                                     .outcomes = {{"Preempted", 1}, {"Succeeded", 1}},
                                     .waited = 2 * kHour,
                                     .waits = 2,
                                     .used_hours = {{"cpu", 6}, {"nvidia.com/gpu", 3}},
                                     .destroyed_hours = {{"cpu", 4}, {"nvidia.com/gpu", 2}}},
                          ReportLine{.key = "team-b/other",
                                     .workloads = 1,
                                     .attempts = 1,
                                     .waited = 9 * kHour,
                                     .waits = 1}));
}

TEST(ReportTest, OnlyThePeriodCounts) {
  const Period period{12 * kHour, 14 * kHour + 1800};
  EXPECT_THAT(
      MakeReport(History(), ReportBy::kLabel, "team", period),
      ElementsAre(
          ReportLine{
              .key = "text", .workloads = 1, .attempts = 1, .waited = 2 * kHour + 1800, .waits = 1},
          ReportLine{.key = "vision",
                     .workloads = 1,
                     .attempts = 2,
                     .outcomes = {{"Preempted", 1}},
                     .waited = kHour,
                     .waits = 1,
                     .used_hours = {{"cpu", 3}, {"nvidia.com/gpu", 1.5}},
                     .destroyed_hours = {{"cpu", 2}, {"nvidia.com/gpu", 1}}}));
  EXPECT_TRUE(MakeReport(History(), ReportBy::kQueue, "", {0, kHour}).empty());
  // Preempted after the period: not yet lost.
  const auto earlier = MakeReport(History(), ReportBy::kQueue, "", {0, 12 * kHour});
  ASSERT_EQ(earlier.size(), 2U);
  EXPECT_TRUE(earlier[0].outcomes.empty());
  EXPECT_TRUE(earlier[0].destroyed_hours.empty());
  EXPECT_DOUBLE_EQ(earlier[0].used_hours.at("nvidia.com/gpu"), 1);
}

TEST(ReportTest, ByCause) {
  auto history = History();
  history[0].reserved = 10 * kHour + 1800;
  history[0].waits = {{10 * kHour, "WaitingForQuota"}};
  const auto lines = MakeReport(history, ReportBy::kCause, "", {0, 20 * kHour});
  std::map<std::string, Seconds> waited;
  for (const ReportLine& line : lines) waited[line.key] = line.waited;
  EXPECT_EQ(waited, (std::map<std::string, Seconds>{{"end: Preempted InClusterQueue", 0},
                                                    {"end: Succeeded", 0},
                                                    {"wait: AdmissionChecks", 1800},
                                                    {"wait: Unknown", kHour},
                                                    {"wait: WaitingForQuota", 1800 + 9 * kHour}}));
}

TEST(ReportTest, ByPreemptor) {
  auto history = History();
  history[0].preemptor = "p";
  const auto lines = MakeReport(history, ReportBy::kPreemptor, "", {0, 20 * kHour});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].key, "p");
  EXPECT_EQ(lines[0].attempts, 1);
  EXPECT_EQ(lines[0].destroyed_hours,
            (std::map<std::string, double>{{"cpu", 4}, {"nvidia.com/gpu", 2}}));
}

TEST(ReportTest, PartsOfAWaitCoverTheWait) {
  AttemptRecord attempt = Admitted("a", 1000, 1400);
  attempt.reserved = 1200;
  attempt.started = 1500;
  attempt.waits = {{1000, "PendingEvaluation"}, {1010, "WaitingForQuota"}, {1300, "Late"}};
  EXPECT_THAT(WaitParts(attempt, 9000), ElementsAre(WaitPart{"PendingEvaluation", 1000, 1010},
                                                    WaitPart{"WaitingForQuota", 1010, 1200},
                                                    WaitPart{"AdmissionChecks", 1200, 1400},
                                                    WaitPart{"PodsReady", 1400, 1500}));
  EXPECT_THAT(WaitParts(Pending("b"), 1030), ElementsAre(WaitPart{"WaitingForQuota", 1000, 1030}));
}

TEST(ReportTest, UnitsOfHours) {
  EXPECT_DOUBLE_EQ(ResourceHours("cpu", 1500, kHour), 1.5);
  EXPECT_DOUBLE_EQ(ResourceHours("memory", 1LL << 31, kHour), 2);
  EXPECT_DOUBLE_EQ(ResourceHours("nvidia.com/gpu", 8, kHour / 2), 4);
  EXPECT_DOUBLE_EQ(ResourceHours(api::kGpusResource, 250'000, kHour), 0.25);
}

}  // namespace
}  // namespace berth::ledger

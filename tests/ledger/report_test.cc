// Goal: accounts add up: waits by cause cover the wait, hours are those inside the period, and what
// preemptions destroyed is counted.
// Method: whole lines of small histories.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ledger/accounts.h"
#include "tests/ledger/records.h"

namespace berth::ledger {
namespace {

using test::Admitted;
using test::Ended;
using test::Pending;
using ::testing::ElementsAre;

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

TEST(ReportTest, TheLineOfAQueueSumsWaitsUseAndDestroyedHours) {
  const Period period{0, 20 * kHour};
  EXPECT_THAT(MakeReport(History(), {}, ReportBy::kQueue, "", period),
              ElementsAre(ReportLine{.key = "team-a/main",
                                     .workloads = 1,
                                     .attempts = 2,
                                     .outcomes = {{"Preempted", 1}, {"Succeeded", 1}},
                                     .waited = 2 * kHour,
                                     .waits = 2,
                                     .waited_hours = {{"cpu", 4}, {"nvidia.com/gpu", 2}},
                                     .used_hours = {{"cpu", 6}, {"nvidia.com/gpu", 3}},
                                     .destroyed_hours = {{"cpu", 4}, {"nvidia.com/gpu", 2}},
                                     .unpriced = 2},
                          ReportLine{.key = "team-b/other",
                                     .workloads = 1,
                                     .attempts = 1,
                                     .waited = 9 * kHour,
                                     .waits = 1,
                                     .waited_hours = {{"cpu", 18}, {"nvidia.com/gpu", 9}}}));
}

TEST(ReportTest, TimesOutsideThePeriodDoNotCount) {
  const Period period{12 * kHour, 14 * kHour + 1800};
  EXPECT_THAT(MakeReport(History(), {}, ReportBy::kLabel, "team", period),
              ElementsAre(ReportLine{.key = "text",
                                     .workloads = 1,
                                     .attempts = 1,
                                     .waited = 2 * kHour + 1800,
                                     .waits = 1,
                                     .waited_hours = {{"cpu", 5}, {"nvidia.com/gpu", 2.5}}},
                          ReportLine{.key = "vision",
                                     .workloads = 1,
                                     .attempts = 2,
                                     .outcomes = {{"Preempted", 1}},
                                     .waited = kHour,
                                     .waits = 1,
                                     .waited_hours = {{"cpu", 2}, {"nvidia.com/gpu", 1}},
                                     .used_hours = {{"cpu", 3}, {"nvidia.com/gpu", 1.5}},
                                     .destroyed_hours = {{"cpu", 2}, {"nvidia.com/gpu", 1}},
                                     .unpriced = 2}));
  EXPECT_TRUE(MakeReport(History(), {}, ReportBy::kQueue, "", {0, kHour}).empty());
  // Preempted after the period: not yet lost.
  const auto earlier = MakeReport(History(), {}, ReportBy::kQueue, "", {0, 12 * kHour});
  ASSERT_EQ(earlier.size(), 2U);
  EXPECT_TRUE(earlier[0].outcomes.empty());
  EXPECT_TRUE(earlier[0].destroyed_hours.empty());
  EXPECT_DOUBLE_EQ(earlier[0].used_hours.at("nvidia.com/gpu"), 1);
}

TEST(ReportTest, AReportByCauseGivesEachWaitToItsCause) {
  auto history = History();
  history[0].reserved = 10 * kHour + 1800;
  history[0].waits = {{10 * kHour, "WaitingForQuota"}};
  const auto lines = MakeReport(history, {}, ReportBy::kCause, "", {0, 20 * kHour});
  std::map<std::string, Seconds> waited;
  for (const ReportLine& line : lines) waited[line.key] = line.waited;
  EXPECT_EQ(waited, (std::map<std::string, Seconds>{{"end: Preempted InClusterQueue", 0},
                                                    {"end: Succeeded", 0},
                                                    {"wait: AdmissionChecks", 1800},
                                                    {"wait: Unknown", kHour},
                                                    {"wait: WaitingForQuota", 1800 + 9 * kHour}}));
}

// The time of a node for Workload "a": 30 USD an hour, 8 GPUs.
NodeTimeRecord NodeOfA(Seconds from, Seconds until) {
  NodeTimeRecord node{.id = "m", .node = "n", .pool = "h100", .namespace_name = "team-a"};
  node.local_queue = "main";
  node.workload = "job-a";
  node.workload_uid = "a";
  node.from = from;
  node.until = until;
  node.gpus = 8;
  node.hourly_nano = 30'000'000'000;
  return node;
}

TEST(ReportTest, MeasuredNodesAreChargedInPlaceOfExpectedCosts) {
  auto history = History();
  for (AttemptRecord& attempt : history) attempt.hourly_nano = 2'000'000'000;
  const Period period{0, 20 * kHour};
  const auto expected = MakeReport(history, {}, ReportBy::kQueue, "", period);
  EXPECT_EQ(expected[0].cost_nano, 6'000'000'000);  // 3 hours of runs
  EXPECT_EQ(expected[0].measured_nano, 0);
  EXPECT_EQ(expected[0].unpriced, 0);

  const std::vector<NodeTimeRecord> nodes{NodeOfA(9 * kHour, 14 * kHour + 1800)};
  const auto by_team = MakeReport(history, nodes, ReportBy::kLabel, "team", period);
  ASSERT_EQ(by_team.size(), 2U);
  EXPECT_EQ(by_team[0].cost_nano, 0) << "a job that waits costs nothing";
  EXPECT_EQ(by_team[1].key, "vision");
  EXPECT_EQ(by_team[1].cost_nano, 165'000'000'000);
  EXPECT_EQ(by_team[1].measured_nano, 165'000'000'000);
  EXPECT_EQ(by_team[1].charged_hours,
            (std::map<std::string, double>{{"berth.dev/gpus", 44}, {"nodes", 5.5}}));
  const auto half = MakeReport(history, nodes, ReportBy::kQueue, "", {14 * kHour, 20 * kHour});
  EXPECT_EQ(half[0].cost_nano, 15'000'000'000) << "only the period counts";
}

TEST(ReportTest, LinesByPoolAndByUserSumTheirNodesAndAttempts) {
  auto history = History();
  history[0].user = history[1].user = "ann";
  NodeTimeRecord unpriced = NodeOfA(10 * kHour, 11 * kHour);
  unpriced.hourly_nano.reset();
  unpriced.gpus = 0;
  unpriced.pool = "";
  unpriced.workload_uid = "";  // the Workload went before the node was seen
  const std::vector<NodeTimeRecord> nodes{NodeOfA(9 * kHour, 10 * kHour), unpriced};
  const Period period{0, 20 * kHour};
  EXPECT_THAT(
      MakeReport(history, nodes, ReportBy::kPool, "", period),
      ElementsAre(
          ReportLine{.key = "", .workloads = 1, .charged_hours = {{"nodes", 1}}, .unpriced = 1},
          ReportLine{.key = "h100",
                     .workloads = 1,
                     .charged_hours = {{"nodes", 1}, {"berth.dev/gpus", 8}},
                     .cost_nano = 30'000'000'000,
                     .measured_nano = 30'000'000'000}));
  const auto users = MakeReport(history, nodes, ReportBy::kUser, "", period);
  ASSERT_EQ(users.size(), 2U);
  EXPECT_EQ(users[0].key, "");
  EXPECT_EQ(users[1].key, "ann");
  EXPECT_EQ(users[1].cost_nano, 30'000'000'000);
  EXPECT_EQ(MakeReport(history, nodes, ReportBy::kQueue, "", period)[0].charged_hours.at("nodes"),
            2);
}

TEST(ReportTest, DestroyedHoursAreChargedToThePreemptor) {
  auto history = History();
  history[0].preemptor = "p";
  const auto lines = MakeReport(history, {}, ReportBy::kPreemptor, "", {0, 20 * kHour});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].key, "p");
  EXPECT_EQ(lines[0].attempts, 1);
  EXPECT_EQ(lines[0].destroyed_hours,
            (std::map<std::string, double>{{"cpu", 4}, {"nvidia.com/gpu", 2}}));
}

// A job that claims checkpoints each ten minutes: runs of so many hours, all but the last
// preempted.
void AddRuns(const std::string& uid, const std::vector<Seconds>& hours,
             std::vector<AttemptRecord>& history) {
  Seconds at = 10 * kHour;
  for (std::size_t i = 0; i < hours.size(); ++i) {
    AttemptRecord attempt = Admitted(uid, at, at, static_cast<std::int64_t>(i) + 1);
    attempt.checkpoint = 600;
    at += hours[i] * kHour;
    history.push_back(Ended(attempt, at, i + 1 == hours.size() ? kSucceeded : kPreempted));
  }
}

TEST(ReportTest, StopsAreMeasuredByWholeRunsOfJobsLikeIt) {
  std::vector<AttemptRecord> history;
  AddRuns("restarted", {2, 1, 3}, history);  // the run of three hours began anew twice
  for (const char* uid : {"a", "b", "c", "d"}) AddRuns(uid, {3}, history);
  const Period period{0, 1000 * kHour};
  const auto stops_of = [&](const Period& within) {
    const auto lines = MakeReport(history, {}, ReportBy::kQueue, "", within);
    return lines.empty() ? StopCosts{} : lines[0].stops;
  };
  EXPECT_EQ(stops_of(period), (StopCosts{.unmeasured = 2})) << "four whole runs are too few";
  AddRuns("e", {3}, history);
  EXPECT_EQ(stops_of(period), (StopCosts{.stops = 2, .claimed = 1200, .lost = 3 * kHour}));
  AddRuns("saved", {2, 1}, history);  // loses nothing
  EXPECT_EQ(stops_of(period), (StopCosts{.stops = 3, .claimed = 1800, .lost = 3 * kHour}));
  EXPECT_EQ(stops_of({0, 15 * kHour}), (StopCosts{.stops = 1, .claimed = 600}))
      << "the first job ends after the period";
}

TEST(ReportTest, JobsOtherThanTheMeasuredOnesDoNotCount) {
  std::vector<AttemptRecord> history;
  for (const char* uid : {"a", "b", "c", "d", "e"}) AddRuns(uid, {3}, history);
  AddRuns("failed", {2, 3}, history);
  history.back().outcome = kFailed;
  AddRuns("no-claim", {2, 3}, history);
  for (std::size_t i = history.size() - 2; i < history.size(); ++i) history[i].checkpoint.reset();
  AddRuns("wide", {2, 3}, history);
  for (std::size_t i = history.size() - 2; i < history.size(); ++i) {
    history[i].resources[1].amount = 8;
  }
  AddRuns("begun-earlier", {2, 3}, history);
  history.erase(history.end() - 2);
  const auto lines = MakeReport(history, {}, ReportBy::kQueue, "", {0, 1000 * kHour});
  EXPECT_EQ(lines[0].stops, (StopCosts{.unmeasured = 1})) << "of the wide job";
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

TEST(ReportTest, ResourceHoursCountCoresGibibytesAndGpus) {
  EXPECT_DOUBLE_EQ(ResourceHours("cpu", 1500, kHour), 1.5);
  EXPECT_DOUBLE_EQ(ResourceHours("memory", 1LL << 31, kHour), 2);
  EXPECT_DOUBLE_EQ(ResourceHours("nvidia.com/gpu", 8, kHour / 2), 4);
  EXPECT_DOUBLE_EQ(ResourceHours(api::kGpusResource, 250'000, kHour), 0.25);
}

}  // namespace
}  // namespace berth::ledger

// Goal: the parts of a report over time add up to the report; the largest lines are kept and the
// others summed. Method: random histories against MakeReport; small histories.
#include "ledger/report_history.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/ledger/records.h"

namespace berth::ledger {
namespace {

using test::Admitted;
using test::Ended;
using test::Pending;
using ::testing::ElementsAre;

constexpr Seconds kOneHour = 3600;
constexpr Period kWholeDay{0, 24 * kOneHour};

ReportHistory HistoryOf(const std::vector<AttemptRecord>& attempts, std::int64_t parts,
                        std::size_t most = 12, const std::vector<NodeTimeRecord>& nodes = {}) {
  StreamedReportHistory history(nodes, ReportBy::kQueue, "", kWholeDay, parts);
  for (const AttemptRecord& attempt : attempts) history.Add(attempt);
  return history.Take(most);
}

std::vector<AttemptRecord> RandomAttempts(std::uint64_t seed) {
  Random random(seed);
  std::vector<AttemptRecord> attempts;
  for (int i = 0; i < 60; ++i) {
    const auto queued = static_cast<Seconds>(random.Below(20 * kOneHour));
    const Seconds admitted = queued + static_cast<Seconds>(random.Below(3 * kOneHour));
    const Seconds ended = admitted + static_cast<Seconds>(random.Below(5 * kOneHour));
    AttemptRecord attempt = Admitted("w" + std::to_string(i), queued, admitted);
    attempt.local_queue = "q" + std::to_string(random.Below(4));
    attempt.hourly_nano = 3'600'000'000;
    const std::uint64_t fate = random.Below(4);
    if (fate == 0) attempt = Pending(attempt.uid, queued);
    if (fate == 1) attempt = Ended(attempt, ended, kPreempted);
    if (fate == 2) attempt = Ended(attempt, ended, kSucceeded);
    attempts.push_back(attempt);
  }
  return attempts;
}

TEST(ReportHistoryTest, PartsAddUpToTheReport) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    const auto attempts = RandomAttempts(seed);
    const auto lines = MakeReport(attempts, {}, ReportBy::kQueue, "", kWholeDay);
    const ReportHistory history = HistoryOf(attempts, 24);
    ASSERT_EQ(history.lines.size(), lines.size());
    ASSERT_EQ(history.times.size(), 24U);
    for (const ReportHistoryLine& line : history.lines) {
      const auto whole = std::find_if(lines.begin(), lines.end(),
                                      [&](const auto& each) { return each.key == line.key; });
      ASSERT_NE(whole, lines.end());
      Seconds waited = 0;
      double used = 0;
      double destroyed = 0;
      std::int64_t cost = 0;
      for (const ReportPart& part : line.parts) {
        waited += part.waited;
        cost += part.cost_nano;
        const auto gpus = part.used_hours.find("nvidia.com/gpu");
        used += gpus == part.used_hours.end() ? 0 : gpus->second;
        const auto lost = part.destroyed_hours.find("nvidia.com/gpu");
        destroyed += lost == part.destroyed_hours.end() ? 0 : lost->second;
      }
      EXPECT_EQ(waited, whole->waited);
      EXPECT_EQ(cost, whole->cost_nano);
      const auto gpus = whole->used_hours.find("nvidia.com/gpu");
      EXPECT_NEAR(used, gpus == whole->used_hours.end() ? 0 : gpus->second, 1e-9);
      const auto lost = whole->destroyed_hours.find("nvidia.com/gpu");
      EXPECT_NEAR(destroyed, lost == whole->destroyed_hours.end() ? 0 : lost->second, 1e-9);
    }
  }
}

TEST(ReportHistoryTest, TheLargestLinesAreKeptAndTheOthersSummed) {
  std::vector<AttemptRecord> attempts;
  for (int i = 1; i <= 4; ++i) {
    AttemptRecord attempt = Admitted("w" + std::to_string(i), 1, 1);
    attempt.local_queue = "q" + std::to_string(i);
    attempts.push_back(Ended(attempt, 1 + i * kOneHour, kSucceeded));
  }
  const ReportHistory history = HistoryOf(attempts, 1, 2);
  ASSERT_EQ(history.lines.size(), 2U);
  EXPECT_EQ(history.lines[0].key, "team-a/q4");
  EXPECT_EQ(history.lines[1].key, "team-a/q3");
  EXPECT_EQ(history.other_lines, 2);
  ASSERT_EQ(history.others.size(), 1U);
  EXPECT_DOUBLE_EQ(history.others[0].used_hours.at("nvidia.com/gpu"), 3);
  EXPECT_TRUE(HistoryOf(attempts, 1).others.empty());
}

TEST(ReportHistoryTest, WhatAPreemptionDestroyedCountsWhereItRan) {
  const ReportHistory history =
      HistoryOf({Ended(Admitted("a", kOneHour, 6 * kOneHour), 16 * kOneHour, kPreempted)}, 2);
  ASSERT_EQ(history.lines.size(), 1U);
  const auto& parts = history.lines[0].parts;
  EXPECT_DOUBLE_EQ(parts[0].destroyed_hours.at("nvidia.com/gpu"), 6);
  EXPECT_DOUBLE_EQ(parts[1].destroyed_hours.at("nvidia.com/gpu"), 4);
  EXPECT_EQ(parts[0].waited, 5 * kOneHour);
  EXPECT_EQ(parts[1].waited, 0);
}

// The node waits for its Workload in one part, and is idle after it in another.
TEST(ReportHistoryTest, NodesBelongToTheLineOfTheirWorkloadInAllParts) {
  NodeTimeRecord node{.id = "m", .node = "n", .namespace_name = "team-a"};
  node.workload_uid = "a";
  node.from = 2 * kOneHour;
  node.until = 23 * kOneHour;
  node.hourly_nano = 1'000'000'000;
  AttemptRecord attempt = Ended(Admitted("a", kOneHour, 9 * kOneHour), 10 * kOneHour, kSucceeded);
  attempt.hourly_nano = 5'000'000'000;  // the measured node counts in its place
  StreamedReportHistory history({node}, ReportBy::kLabel, "team", kWholeDay, 3);
  history.Add(attempt);
  const ReportHistory taken = history.Take(12);
  ASSERT_EQ(taken.lines.size(), 1U);
  EXPECT_EQ(taken.lines[0].key, "vision");
  std::vector<std::int64_t> costs;
  for (const ReportPart& part : taken.lines[0].parts) costs.push_back(part.cost_nano);
  EXPECT_THAT(costs, ElementsAre(6'000'000'000, 8'000'000'000, 7'000'000'000));
}

TEST(ReportHistoryTest, MeasuredNodesAreChargedInTheirParts) {
  NodeTimeRecord node{.id = "m", .node = "n", .namespace_name = "team-a"};
  node.local_queue = "main";
  node.workload_uid = "a";
  node.from = 6 * kOneHour;
  node.until = 18 * kOneHour;
  node.hourly_nano = 1'000'000'000;
  const ReportHistory history = HistoryOf(
      {Ended(Admitted("a", kOneHour, 7 * kOneHour), 17 * kOneHour, kSucceeded)}, 2, 12, {node});
  ASSERT_EQ(history.lines.size(), 1U);
  EXPECT_EQ(history.lines[0].parts[0].cost_nano, 6'000'000'000);
  EXPECT_EQ(history.lines[0].parts[1].cost_nano, 6'000'000'000);
}

}  // namespace
}  // namespace berth::ledger

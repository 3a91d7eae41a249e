// Goal: the draws of a run have the distribution of its forecast, and runs of a batch are alike in
// each draw. Method: histories made by hand, some thousand draws with fixed seeds.
#include "simulation/run_draw.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/simulation/run_members.h"

namespace berth::simulation {
namespace {

constexpr int kDraws = 2000;

// Half of the batches of `key` ran 100 s, the other half 10,000 s.
void AddTwoKinds(RunMemberList& list, const RunKey& key) {
  for (int batch = 0; batch < 40; ++batch) {
    for (int i = 0; i < 3; ++i) {
      list.Ended(key, kDaySeconds + batch * 3 * kHourSeconds + i, batch % 2 == 0 ? 100 : 10'000);
    }
  }
}

// By draw, the runs of the open members in their order.
std::vector<std::vector<double>> DrawAll(const RunModel& model, int draws = kDraws) {
  std::vector<std::vector<double>> all;
  RunDraw draw(model);
  Random shares(7);
  for (int i = 0; i < draws; ++i) {
    draw.Restart();
    std::vector<double>& runs = all.emplace_back();
    for (const std::size_t member : model.open()) {
      Random random(static_cast<std::uint64_t>(i) * 1000 + member);
      runs.push_back(draw.Take(member, shares.Unit(), random));
    }
  }
  return all;
}

bool IsShort(double run) { return run < 1000; }

double ShareOf(const std::vector<std::vector<double>>& draws, std::size_t job) {
  double count = 0;
  for (const auto& runs : draws) count += IsShort(runs[job]) ? 1 : 0;
  return count / static_cast<double>(draws.size());
}

TEST(RunDrawTest, DrawsHaveTheDistributionOfTheForecast) {
  RunMemberList list;
  AddTwoKinds(list, KeyOf("train-1"));
  const auto first = list.Waits(KeyOf("train-2"), 10);
  list.Waits(KeyOf("train-2"), 9);
  list.Waits(KeyOf("train-2"), 8);
  const RunModel model = list.Model();
  const auto draws = DrawAll(model);
  double expected = 0;  // the share of short runs by the forecast
  while (expected < 1 && IsShort(model.Whole(first).At(expected))) expected += 0.005;
  for (std::size_t job = 0; job < 3; ++job) EXPECT_NEAR(ShareOf(draws, job), expected, 0.04);
}

TEST(RunDrawTest, RunsOfABatchAreAlike) {
  RunMemberList list;
  AddTwoKinds(list, KeyOf("train-1"));
  list.Waits(KeyOf("train-2"), 10);
  list.Waits(KeyOf("train-2"), 9);
  list.Waits(KeyOf("train-2"), 8);
  double alike = 0;
  for (const auto& runs : DrawAll(list.Model())) {
    alike += IsShort(runs[0]) == IsShort(runs[2]) ? 1 : 0;
  }
  EXPECT_GT(alike / kDraws, 0.8);  // half of them, if runs were independent
}

TEST(RunDrawTest, RunningMembersOfABatchDecideAboutWaitingMembers) {
  RunMemberList list;
  AddTwoKinds(list, KeyOf("train-1"));
  const auto share = [&list](std::int64_t elapsed) {
    RunMemberList with = list;
    for (int i = 0; i < 5; ++i) with.Runs(KeyOf("train-2"), elapsed + i, elapsed);
    with.Waits(KeyOf("train-2"), 10);
    return ShareOf(DrawAll(with.Model(), 500), 5);
  };
  EXPECT_NEAR(share(50), 0.5, 0.12);
  EXPECT_LT(share(2000), 0.15);  // those that run have outlasted every short run
}

TEST(RunDrawTest, RunIsBetweenItsElapsedAndItsDeclaredTime) {
  RunMemberList list;
  RunKey key = KeyOf("train-1");
  key.declared = 5000;
  AddTwoKinds(list, key);
  list.Runs(key, 4000, 3000);
  list.Runs(key, 7000, 6000);  // beyond its maximum
  list.Waits(key, 10);
  for (const auto& runs : DrawAll(list.Model(), 500)) {
    EXPECT_EQ(runs[0], 6000);
    EXPECT_GT(runs[1], 3000);
    EXPECT_LE(runs[1], 5000);
    EXPECT_LE(runs[2], 5000);
  }
}

TEST(RunDrawTest, RestartedDrawRepeatsTheSameRuns) {
  RunMemberList list;
  AddTwoKinds(list, KeyOf("train-1"));
  list.Waits(KeyOf("train-2"), 10);
  list.Waits(KeyOf("train-2"), 9);
  const RunModel model = list.Model();
  RunDraw draw(model);
  const auto take = [&] {
    draw.Restart();
    std::vector<double> runs;
    for (const std::size_t member : model.open()) {
      Random random(member);
      runs.push_back(draw.Take(member, 0.3, random));
    }
    return runs;
  };
  const auto first = take();
  EXPECT_EQ(take(), first);
}

}  // namespace
}  // namespace berth::simulation

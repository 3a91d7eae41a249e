// Goal: consumption follows the half-life; penalties count at once and end. Method: tables over
// time, with numbers from the formula in the header.

#include "admission/quota/usage_ledger.h"

#include <cmath>

#include <gtest/gtest.h>

namespace berth::admission {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kStart{1'767'225'600s};
const api::ObjectKey kQueue{"team", "lq"};

TEST(UsageLedger, ConsumptionFollowsUsageByTheHalfLife) {
  struct Row {
    Duration half_life;
    Duration span;
    double consumed;  // the part of 8 cores in use since the first sample
  };
  const std::vector<Row> rows = {{10min, 10min, 4.0},
                                 {10min, 20min, 6.0},
                                 {10min, 30min, 7.0},
                                 {1h, 1h, 4.0},
                                 {Duration::zero(), 1h, 0.0}};
  for (const Row& row : rows) {
    UsageLedger ledger({.half_life = row.half_life, .sampling_interval = 1min});
    ledger.Sample(kQueue, kStart);
    ledger.AddAdmitted(kQueue, {{"cpu", 8.0}}, 1);
    ledger.Sample(kQueue, kStart + row.span);
    EXPECT_NEAR(ledger.UsageOf(kQueue), row.consumed, 1e-9);
  }
}

TEST(UsageLedger, ManySmallSamplesEqualOneLargeSample) {
  UsageLedger ledger({.half_life = 168h, .sampling_interval = 5min});
  ledger.Sample(kQueue, kStart);
  ledger.AddAdmitted(kQueue, {{"nvidia.com/gpu", 1.0}}, 1);
  for (int i = 1; i <= 12 * 168; ++i) ledger.Sample(kQueue, kStart + 5min * i);
  EXPECT_NEAR(ledger.UsageOf(kQueue), 0.5, 1e-9) << "nothing is lost to rounding";
}

TEST(UsageLedger, FirstSampleIsThePresentUsage) {
  UsageLedger ledger({.half_life = 10min, .sampling_interval = 5min});
  ledger.AddAdmitted(kQueue, {{"cpu", 8.0}}, 1);
  ledger.Sample(kQueue, kStart);
  EXPECT_EQ(ledger.UsageOf(kQueue), 8);
  UsageLedger forgetful({.half_life = 0min, .sampling_interval = 5min});
  forgetful.AddAdmitted(kQueue, {{"cpu", 8.0}}, 1);
  forgetful.Sample(kQueue, kStart);
  EXPECT_EQ(forgetful.UsageOf(kQueue), 0);
}

TEST(UsageLedger, SamplesOnlyWhenDue) {
  UsageLedger ledger({.half_life = 10min, .sampling_interval = 5min});
  ledger.Sample(kQueue, kStart);
  ledger.AddAdmitted(kQueue, {{"cpu", 8.0}}, 1);
  EXPECT_EQ(ledger.Sample(kQueue, kStart + 299s).last_update, kStart);
  EXPECT_EQ(ledger.UsageOf(kQueue), 0);
  EXPECT_EQ(ledger.Sample(kQueue, kStart + 300s).last_update, kStart + 300s);
  EXPECT_GT(ledger.UsageOf(kQueue), 0);
}

TEST(UsageLedger, UsageIsWeightedByResourcesAndByTheQueue) {
  struct Row {
    double weight;
    double usage;  // 2 cores and 3 GPUs are consumed; a GPU counts tenfold
  };
  for (const Row& row : {Row{1, 32}, Row{2, 16}, Row{0.5, 64}}) {
    UsageLedger ledger({.half_life = 10min, .resource_weights = {{"gpu", 10.0}}});
    ledger.Restore(kQueue, {{{"cpu", 2.0}, {"gpu", 3.0}}, kStart});
    ledger.SetWeight(kQueue, row.weight);
    EXPECT_DOUBLE_EQ(ledger.UsageOf(kQueue), row.usage);
  }
  UsageLedger ledger({.half_life = 10min});
  ledger.SetWeight(kQueue, 0);
  EXPECT_TRUE(std::isinf(ledger.UsageOf(kQueue))) << "goes last even if it used nothing";
}

TEST(UsageLedger, APenaltyCountsAtOnceAndBecomesConsumption) {
  UsageLedger ledger({.half_life = 5min, .sampling_interval = 5min});
  ledger.Sample(kQueue, kStart);
  const Spending penalty = ledger.EntryPenalty({{"cpu", 4.0}});
  EXPECT_DOUBLE_EQ(penalty.at("cpu"), 2.0) << "what one interval would add";
  ledger.AddPenalty(kQueue, penalty, 1);
  EXPECT_DOUBLE_EQ(ledger.UsageOf(kQueue), 2.0);
  ledger.Settle(kQueue, penalty, kStart);
  EXPECT_DOUBLE_EQ(ledger.UsageOf(kQueue), 2.0) << "neither lost nor counted twice";
  ledger.Sample(kQueue, kStart + 5min);
  EXPECT_DOUBLE_EQ(ledger.UsageOf(kQueue), 1.0) << "and decays";
}

TEST(UsageLedger, RemovedPenaltiesLeaveNoUsage) {
  UsageLedger ledger({.half_life = 1h});
  const Spending penalty = ledger.EntryPenalty({{"cpu", 0.1}, {"memory", 3.0}});
  for (int i = 0; i < 3; ++i) ledger.AddPenalty(kQueue, penalty, 1);
  for (int i = 0; i < 3; ++i) ledger.AddPenalty(kQueue, penalty, -1);
  EXPECT_EQ(ledger.UsageOf(kQueue), 0);
}

TEST(UsageLedger, ForgottenQueueWithoutUsageHasNoAccount) {
  UsageLedger ledger({.half_life = 10min});
  for (int i = 0; i < 100; ++i) {
    const api::ObjectKey queue{"team", std::to_string(i)};
    ledger.SetWeight(queue, 1);
    ledger.AddAdmitted(queue, {{"cpu", 4.0}}, 1);
    ledger.AddPenalty(queue, {{"cpu", 1.0}}, 1);
    if (i % 2 == 0) ledger.Forget(queue);
    ledger.AddAdmitted(queue, {{"cpu", 4.0}}, -1);
    EXPECT_EQ(ledger.size(), 1U) << "it still has a penalty";
    ledger.AddPenalty(queue, {{"cpu", 1.0}}, -1);
    if (i % 2 == 1) ledger.Forget(queue);
    EXPECT_EQ(ledger.size(), 0U);
  }
}

TEST(UsageLedger, RestoresAHistoryOnce) {
  UsageLedger ledger({.half_life = 10min, .sampling_interval = 1min});
  ledger.Restore(kQueue, {{{"cpu", 8.0}}, kStart});
  ledger.Restore(kQueue, {{{"cpu", 100.0}}, kStart});
  EXPECT_DOUBLE_EQ(ledger.UsageOf(kQueue), 8.0);
  ledger.Restore(kQueue, {{{"cpu", 100.0}}, kStart - 1s});
  EXPECT_DOUBLE_EQ(ledger.UsageOf(kQueue), 8.0) << "older than the known history";
  ledger.Sample(kQueue, kStart + 20min);
  EXPECT_DOUBLE_EQ(ledger.UsageOf(kQueue), 2.0) << "it decayed while nobody looked";
  ledger.Forget(kQueue);
  EXPECT_EQ(ledger.UsageOf(kQueue), 0);
  EXPECT_EQ(ledger.UsageOf({"team", "unknown"}), 0);
}

TEST(UsageLedger, AReplicaThatWaitsFollowsTheLeadersHistory) {
  UsageLedger standby({.half_life = 10min, .sampling_interval = 1min});
  standby.Restore(kQueue, {{{"cpu", 8.0}}, kStart});
  standby.Restore(kQueue, {{{"cpu", 6.0}}, kStart + 10h});
  EXPECT_DOUBLE_EQ(standby.UsageOf(kQueue), 6.0);
  standby.Sample(kQueue, kStart + 10h + 10min);
  EXPECT_DOUBLE_EQ(standby.UsageOf(kQueue), 3.0) << "ten hours have not passed twice";
}

}  // namespace
}  // namespace berth::admission

// Goal: pending pods keep the budget of a LocalQueue's day as requests do: an attempt is charged
// before the job may start, once, and gives its charge back where no pod got a node.
// Method: worlds that share a spend memory; the test plays queue, scheduler and cloud.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provisioning/spend.h"
#include "tests/provisioning/reactive_world.h"

namespace berth::provisioning {
namespace {

using api::CheckState;
using api::ConditionStatus;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::int64_t kDollarInNanos = 1'000'000'000;
constexpr char kTeamQueue[] = "default/team";

// Three Workloads of 4 USD each, of a LocalQueue that may spend 10 USD a day.
class ReactiveBudgetTest : public ::testing::Test {
 protected:
  ReactiveBudgetTest() {
    for (std::size_t at = 0; at < worlds_.size(); ++at) {
      ReactiveWorld& world = worlds_[at];
      world.workload.meta.name = "w" + std::to_string(at);
      world.workload.meta.uid = "uid" + std::to_string(at);
      world.workload.spec.queue_name = "team";
      world.job_deadline = 3600;
      world.spend = &spend_;
      world.UseChain();
      world.policy->max_cost_per_day = *api::Quantity::Parse("10");
      for (auto& step : world.policy->steps) step.price_per_hour = *api::Quantity::Parse("2");
    }
  }
  std::int64_t Spent() const { return spend_.SpentBy(kTeamQueue, DayOf(worlds_[0].now), {}); }

  SpendMemory spend_;
  std::vector<ReactiveWorld> worlds_{3};
};

TEST_F(ReactiveBudgetTest, TheThirdJobWaitsWithItsQuotaForTheNextDay) {
  worlds_[0].Start();
  worlds_[1].Start();
  EXPECT_EQ(Spent(), 8 * kDollarInNanos);
  ReactiveWorld& third = worlds_[2];
  third.GiveQuota("low");
  third.Settle();
  EXPECT_EQ(third.check().state, CheckState::kPending);
  EXPECT_THAT(third.check().message,
              AllOf(HasSubstr("No step may start: step low"),
                    HasSubstr("queue default/team has 8 of 10 USD of the day in use")));
  EXPECT_TRUE(third.last.waits_for_budget);
  ASSERT_TRUE(third.last.next_wake.has_value());
  third.now += *third.last.next_wake;
  EXPECT_EQ(third.now, BeginOf(DayOf(third.now)));
  third.Settle();
  EXPECT_EQ(third.check().state, CheckState::kReady);
}

TEST_F(ReactiveBudgetTest, ARaisedBudgetTakesEffectAtOnce) {
  worlds_[0].Start();
  worlds_[1].Start();
  worlds_[2].GiveQuota("low");
  worlds_[2].Settle();
  worlds_[2].policy->max_cost_per_day = *api::Quantity::Parse("12");
  worlds_[2].Settle();
  EXPECT_EQ(worlds_[2].check().state, CheckState::kReady);
  EXPECT_EQ(Spent(), 12 * kDollarInNanos);
}

TEST_F(ReactiveBudgetTest, FailedAttemptReleasesItsCharge) {
  ReactiveWorld& world = worlds_[0];
  world.Start();
  world.NoRoom(0);
  world.NoRoom(1);
  world.PassAndSettle(300);
  EXPECT_EQ(world.check().state, CheckState::kRetry);
  EXPECT_EQ(Spent(), 0);
}

TEST_F(ReactiveBudgetTest, NodesThatCameStayCharged) {
  ReactiveWorld& world = worlds_[0];
  world.Start();
  world.Bind(0);
  world.Bind(1);
  world.Settle();
  world.Pass(60);
  world.TakeNodeBack(0);
  world.Settle();
  world.Requeue();
  world.pods.clear();
  EXPECT_EQ(Spent(), 4 * kDollarInNanos);
  world.Start();
  EXPECT_EQ(Spent(), 8 * kDollarInNanos) << "the second start costs as much as the first";
  world.SetCondition(api::kFinished, ConditionStatus::kTrue);
  world.Settle();
  EXPECT_EQ(Spent(), 4 * kDollarInNanos) << "the second start ended without nodes";
}

TEST_F(ReactiveBudgetTest, NodesOfAJobThatEndedUnseenStayCharged) {
  ReactiveWorld& world = worlds_[0];
  world.Start();
  for (const std::size_t at : {0U, 1U}) {
    world.Bind(at);
    world.PodAt(at).phase = "Succeeded";
  }
  world.SetCondition(api::kFinished, ConditionStatus::kTrue);
  world.Settle();
  EXPECT_EQ(Spent(), 4 * kDollarInNanos);
}

TEST_F(ReactiveBudgetTest, EvictionBeforeNodesArriveReleasesTheCharge) {
  ReactiveWorld& world = worlds_[0];
  world.Start();
  world.SetCondition(api::kEvicted, ConditionStatus::kTrue);
  world.Settle();
  EXPECT_EQ(Spent(), 0);
}

TEST_F(ReactiveBudgetTest, CrashAfterTheChargeChargesOnce) {
  ReactiveWorld& world = worlds_[0];
  world.crashes = true;
  world.GiveQuota("low");
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kPending) << "charged first";
  EXPECT_EQ(Spent(), 4 * kDollarInNanos);
  world.crashes = false;
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kReady);
  EXPECT_EQ(Spent(), 4 * kDollarInNanos);
}

TEST_F(ReactiveBudgetTest, WarnStartsAboveTheBudgetAndEmitsAnEvent) {
  for (ReactiveWorld& each : worlds_) {
    each.policy->budget_action = api::ProvisioningPolicy::BudgetAction::kWarn;
    each.Start();
  }
  EXPECT_THAT(worlds_[1].events, Not(Contains(HasSubstr("BudgetExceeded"))));
  EXPECT_THAT(worlds_[2].events,
              Contains(HasSubstr("Warning BudgetExceeded: nodes: step low would cost 4 USD")));
  EXPECT_EQ(Spent(), 12 * kDollarInNanos);
}

TEST_F(ReactiveBudgetTest, WithoutABudgetNothingIsCharged) {
  worlds_[0].policy->max_cost_per_day.reset();
  worlds_[0].Start();
  EXPECT_THAT(spend_.Of(kTeamQueue), IsEmpty());
}

TEST_F(ReactiveBudgetTest, LaterBudgetDoesNotChargeAnEarlierStart) {
  ReactiveWorld& world = worlds_[0];
  world.policy->max_cost_per_day.reset();
  world.Start();
  world.Pass(86400);
  world.policy->max_cost_per_day = *api::Quantity::Parse("10");
  world.Settle();
  EXPECT_EQ(Spent(), 0);
}

}  // namespace
}  // namespace berth::provisioning

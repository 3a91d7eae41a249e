// Goal: the workloads of a LocalQueue never ask on one day for more than its budget, whoever
// crashes; the next day, a raised budget and requests in vain give room again.
// Method: tables of charges; Worlds of one queue; 150 random stories with crashes, a failing seed
// is named and replays exactly.
#include "provisioning/spend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "provisioning/request_state.h"
#include "tests/provisioning/world.h"

namespace berth::provisioning {
namespace {

using api::CheckState;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::World;

constexpr std::int64_t kDollar = 1'000'000'000;
constexpr char kQueue[] = "default/team";

TEST(SpendMemoryTest, ChargesAddUpByQueueAndDay) {
  SpendMemory memory;
  memory.Record({kQueue, 1, "a", 3});
  memory.Record({kQueue, 1, "b", 4});
  memory.Record({kQueue, 2, "a", 5});
  memory.Record({"other/team", 1, "a", 6});
  EXPECT_EQ(memory.SpentBy(kQueue, 1, {}), 7);
  EXPECT_EQ(memory.SpentBy(kQueue, 1, {"a"}), 4);
  EXPECT_EQ(memory.SpentBy(kQueue, 3, {}), 0);
  EXPECT_TRUE(memory.Knows({kQueue, 1, "a", 3}));
  EXPECT_FALSE(memory.Knows({kQueue, 1, "a", 4}));
  memory.Record({kQueue, 1, "a", 0});
  EXPECT_EQ(memory.SpentBy(kQueue, 1, {}), 4);
  EXPECT_TRUE(memory.Knows({kQueue, 1, "a", 0}));
}

TEST(SpendMemoryTest, OldDaysAreForgottenAndTheDayInUseIsKept) {
  SpendMemory memory;
  for (const std::int64_t day : {10, 11, 12}) memory.Record({kQueue, day, "a", 1});
  EXPECT_EQ(memory.SpentBy(kQueue, 10, {}), 0);
  memory.Record({kQueue, 5, "a", 1});  // the clock was set back
  EXPECT_TRUE(memory.Knows({kQueue, 5, "a", 1}));
}

TEST(SpendMemoryTest, ChargesBeyondTheBoundAreAddedUp) {
  SpendMemory memory;
  for (int at = 0; at < 2100; ++at) memory.Record({kQueue, 1, "id" + std::to_string(at), 1});
  EXPECT_EQ(memory.SpentBy(kQueue, 1, {}), 2100);
  EXPECT_EQ(memory.Of(kQueue).at(1).charges.size(), 2000U);
  memory.Record({kQueue, 1, "id", 1});
  EXPECT_TRUE(memory.Knows({kQueue, 1, "id", 1}));
}

TEST(SpendMemoryTest, MergesTwoMemories) {
  SpendMemory mine;
  mine.Record({kQueue, 1, "a", 3});
  SpendMemory theirs;
  theirs.Record({kQueue, 1, "a", 5});
  theirs.Record({kQueue, 1, "b", 1});
  mine.Merge(kQueue, theirs.Of(kQueue));
  EXPECT_EQ(mine.SpentBy(kQueue, 1, {}), 6);
}

// A World whose requests cost 4 USD each: a node for an hour.
void MakeBudgetWorld(World& world, SpendMemory& spend, const std::string& name) {
  world.workload.meta.name = name;
  world.workload.meta.uid = name + "-uid";
  world.workload.spec.queue_name = "team";
  world.job_deadline = 3600;
  world.spend = &spend;
  world.policy.emplace();
  world.policy->max_cost_per_day = *api::Quantity::Parse("10");
  api::ProvisioningStep step{.name = "only"};
  step.price_per_hour = *api::Quantity::Parse("4");
  world.policy->steps = {step};
}

class DayBudgetTest : public ::testing::Test {
 protected:
  DayBudgetTest() {
    for (std::size_t at = 0; at < worlds_.size(); ++at) {
      MakeBudgetWorld(worlds_[at], spend_, "w" + std::to_string(at));
    }
  }
  std::int64_t Spent() const { return spend_.SpentBy(kQueue, DayOf(worlds_[0].now), {}); }

  // A World that may ask twice, each time for 16 seconds, on days with the budget of one request.
  World& OneRequestADayGivenUpSoon() {
    worlds_[0].policy->steps[0].max_wait_seconds = 16;
    worlds_[0].policy->steps[0].max_attempts = 2;
    worlds_[0].policy->max_cost_per_day = *api::Quantity::Parse("4");
    return worlds_[0];
  }

  SpendMemory spend_;
  std::vector<World> worlds_{3};
};

TEST_F(DayBudgetTest, TheThirdRequestWaitsForTheNextDay) {
  for (World& each : worlds_) each.Settle();
  EXPECT_EQ(worlds_[1].requests.size(), 1U);
  EXPECT_THAT(worlds_[2].requests, IsEmpty());
  EXPECT_EQ(Spent(), 8 * kDollar);
  EXPECT_EQ(worlds_[2].check().state, CheckState::kPending);
  EXPECT_EQ(
      worlds_[2].check().message,
      "No step may request capacity: step only (BudgetExceeded): would cost 4 USD (1 node at 4 USD "
      "an hour "
      "for 3600 s), queue default/team has 8 of 10 USD of the day in use, the next day begins "
      "at 2023-11-15T00:00:00Z. What helps (an administrator): raise perWorkloadUSD or "
      "perLocalQueueUSDPerDay of the budget, or make the job smaller");
  EXPECT_THAT(worlds_[2].events, Contains(::testing::AllOf(
                                     HasSubstr("CapacityAdvice: dws-prov: BudgetExceeded (limit)"),
                                     HasSubstr("; an administrator can act"))));
  const std::size_t told = worlds_[2].events.size();
  worlds_[2].Settle();
  EXPECT_EQ(worlds_[2].events.size(), told) << "told once";
  const auto wake = worlds_[2].last.next_wake;
  ASSERT_TRUE(wake.has_value());
  EXPECT_EQ(worlds_[2].now + *wake, BeginOf(DayOf(worlds_[2].now) + 1));
  worlds_[2].now += *wake;
  worlds_[2].Settle();
  EXPECT_EQ(worlds_[2].requests.size(), 1U);
}

TEST_F(DayBudgetTest, ARaisedBudgetTakesEffectAtOnce) {
  for (World& each : worlds_) each.Settle();
  worlds_[2].policy->max_cost_per_day = *api::Quantity::Parse("12");
  worlds_[2].Settle();
  EXPECT_EQ(worlds_[2].requests.size(), 1U);
}

// The next request under another class is a new one, although the Workload had a request.
TEST_F(DayBudgetTest, ObsoleteRequestIsNotReplacedAboveALoweredBudget) {
  World& world = worlds_[0];
  world.Settle();
  world.policy->max_cost_per_day = *api::Quantity::Parse("3");
  world.Settle();
  EXPECT_EQ(world.requests.size(), 1U) << "a request that waits stays";
  world.config.provisioning_class_name = "another";
  world.Settle();
  EXPECT_THAT(world.requests, IsEmpty());
  EXPECT_THAT(world.check().message, HasSubstr("BudgetExceeded"));
  EXPECT_EQ(Spent(), 0);
  world.policy->max_cost_per_day = *api::Quantity::Parse("4");
  world.Settle();
  EXPECT_EQ(world.requests.size(), 1U);
}

TEST_F(DayBudgetTest, FailedRequestReleasesItsCharge) {
  worlds_[0].Settle();
  worlds_[1].Settle();
  worlds_[0].Fail("ResourcePoolExhausted");
  worlds_[0].Settle();
  EXPECT_EQ(Spent(), 4 * kDollar);
  worlds_[2].Settle();
  EXPECT_EQ(worlds_[2].requests.size(), 1U);
}

TEST_F(DayBudgetTest, UngrantedRequestOfAFinishedWorkloadReleasesItsCharge) {
  worlds_[0].Settle();
  worlds_[0].SetCondition(api::kFinished, api::ConditionStatus::kTrue, "Deleted");
  worlds_[0].Settle();
  EXPECT_THAT(worlds_[0].requests, IsEmpty());
  EXPECT_EQ(Spent(), 0);
}

// A request that has waited too long may be granted until its deletion: the charge stays so long.
TEST_F(DayBudgetTest, TimedOutRequestIsChargedUntilItsDeletion) {
  World& world = OneRequestADayGivenUpSoon();
  world.Settle();
  worlds_[1].policy->max_cost_per_day = world.policy->max_cost_per_day;
  world.Pass(16);
  while (world.RequestNames().size() == 1 && world.Round()) {
    ASSERT_EQ(Spent(), world.requests.empty() ? 0 : 4 * kDollar);
    worlds_[1].Settle();
    ASSERT_TRUE(world.requests.empty() || worlds_[1].requests.empty());
    if (world.check().state == CheckState::kRetry) world.Evict();
  }
  EXPECT_EQ(worlds_[1].requests.size(), 1U);
}

TEST_F(DayBudgetTest, GrantAtTheEndOfTheWaitStaysCharged) {
  World& world = worlds_[0];
  world.policy->steps[0].max_wait_seconds = 16;
  world.Settle();
  world.Pass(16);
  ASSERT_TRUE(world.Round());  // the failure is counted
  world.Provision();
  world.Settle();
  if (world.check().state == CheckState::kRetry) world.Evict();
  world.Settle();
  EXPECT_THAT(world.requests, IsEmpty());
  EXPECT_EQ(Spent(), 4 * kDollar);
}

// The next request of a Workload needs no room beside the one that is deleted before it.
TEST_F(DayBudgetTest, NextRequestTakesTheChargeOfTheTimedOutOne) {
  World& world = OneRequestADayGivenUpSoon();
  world.Settle();
  world.Pass(16);
  world.Settle();
  if (world.check().state == CheckState::kRetry) {
    world.Evict();
    world.Settle();
    world.Pass(7200);
    world.GiveQuota();
    world.Settle();
  }
  EXPECT_THAT(world.RequestNames(), ::testing::ElementsAre(::testing::EndsWith("-2")));
  EXPECT_EQ(Spent(), 4 * kDollar);
}

TEST_F(DayBudgetTest, DeletedRequestOfADeletedWorkloadReleasesItsCharge) {
  World& world = worlds_[0];
  world.Settle();
  world.workload.meta.deletion_timestamp = world.now;
  world.requests[0].meta.deletion_timestamp = world.now;
  world.Settle();
  EXPECT_EQ(Spent(), 0);
}

// Nothing is written on a Workload that goes: it may be gone before that.
TEST_F(DayBudgetTest, DeletedWorkloadReleasesTheChargeWithItsRequest) {
  World& world = worlds_[0];
  world.policy->steps[0].flavor = "gpu";
  world.policy->max_cost_per_day = *api::Quantity::Parse("5");
  world.Settle();
  ASSERT_EQ(Spent(), 4 * kDollar);
  spend_.Record({kQueue, DayOf(world.now), "another", 3 * kDollar});  // nothing is left of the day
  world.workload.meta.deletion_timestamp = world.now;
  const int written = world.memory_writes;
  world.Settle();
  EXPECT_EQ(world.memory_writes, written);
  EXPECT_THAT(world.requests, IsEmpty());
  EXPECT_EQ(Spent(), 3 * kDollar);
}

TEST_F(DayBudgetTest, CrashAfterTheDeletionStillReleasesTheCharge) {
  World& world = worlds_[0];
  world.policy->steps[0].max_wait_seconds = 16;
  world.Settle();
  world.Pass(16);
  world.Settle();
  ASSERT_EQ(world.check().state, CheckState::kRetry);
  world.Evict();
  world.requests.clear();  // deleted by a process that has ended
  ASSERT_EQ(Spent(), 4 * kDollar);
  world.Settle();
  EXPECT_THAT(world.requests, IsEmpty());
  EXPECT_EQ(Spent(), 0);
}

TEST_F(DayBudgetTest, NodesThatCameStayCharged) {
  worlds_[0].Settle();
  worlds_[0].Provision();
  worlds_[0].Settle();
  worlds_[0].SetCondition(api::kFinished, api::ConditionStatus::kTrue, "Succeeded");
  worlds_[0].Settle();
  EXPECT_EQ(Spent(), 4 * kDollar);
}

TEST_F(DayBudgetTest, ARequestAboveTheBudgetOfADayWaitsForAPerson) {
  worlds_[0].policy->max_cost_per_day = *api::Quantity::Parse("3");
  worlds_[0].Settle();
  EXPECT_THAT(worlds_[0].requests, IsEmpty());
  EXPECT_EQ(worlds_[0].check().state, CheckState::kPending);
  EXPECT_FALSE(worlds_[0].last.next_wake.has_value());
}

// What is left after a failure is too dear for the day: a raised budget lets the Workload go on.
TEST_F(DayBudgetTest, FailureBeforeAStepAboveTheBudgetHasNoBackoff) {
  World& world = worlds_[0];
  api::ProvisioningStep cheap{.name = "cheap", .flavor = "spot", .max_attempts = 1};
  cheap.price_per_hour = *api::Quantity::Parse("1");
  world.policy->steps = {cheap, world.policy->steps[0]};
  world.policy->steps[1].flavor = "demand";
  world.policy->max_cost_per_day = *api::Quantity::Parse("4.5");
  spend_.Record({kQueue, DayOf(world.now), "another", kDollar});
  world.GiveQuota("spot");
  world.Settle();
  world.Fail("ResourcePoolExhausted");
  world.Settle();
  ASSERT_EQ(world.check().state, CheckState::kRetry);
  EXPECT_EQ(world.check().requeue_after_seconds, 0) << world.check().message;
  world.Evict();
  world.Settle();
  EXPECT_EQ(world.avoided(), "demand,spot");
  EXPECT_TRUE(world.last.waits_for_budget);
  world.policy->max_cost_per_day = *api::Quantity::Parse("10");
  world.Settle();
  EXPECT_EQ(world.avoided(), "spot");
}

TEST_F(DayBudgetTest, WarnRequestsAboveTheBudgetAndEmitsAnEvent) {
  for (World& each : worlds_) {
    each.policy->budget_action = api::ProvisioningPolicy::BudgetAction::kWarn;
    each.Settle();
    EXPECT_EQ(each.requests.size(), 1U);
  }
  EXPECT_THAT(worlds_[1].events, ::testing::Not(Contains(HasSubstr("BudgetExceeded"))));
  EXPECT_THAT(worlds_[2].events, Contains(HasSubstr("BudgetExceeded: dws-prov: step only would")));
  EXPECT_EQ(Spent(), 12 * kDollar);
}

TEST_F(DayBudgetTest, ACrashBetweenChargeAndRequestChargesOnce) {
  worlds_[0].crash_after = 0;
  worlds_[0].Settle();
  EXPECT_EQ(Spent(), 4 * kDollar);
  worlds_[0].crash_after = -1;
  worlds_[0].Settle();
  EXPECT_EQ(worlds_[0].requests.size(), 1U);
  EXPECT_EQ(Spent(), 4 * kDollar);
}

// Requests whose nodes came on one day cost no more than the day's budget.
TEST(DayBudgetStoryTest, TheCostIsNeverAboveTheBudget) {
  int blocked = 0;
  int bought = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    SpendMemory spend;
    std::vector<World> worlds(4);
    for (std::size_t at = 0; at < worlds.size(); ++at) {
      MakeBudgetWorld(worlds[at], spend, "w" + std::to_string(at));
      worlds[at].policy->on_revoked = api::ProvisioningPolicy::OnRevoked::kRequeue;
    }
    std::map<std::int64_t, std::int64_t> cost_by_day;
    for (int step = 0; step < 60; ++step) {
      const int pause = static_cast<int>(random.Below(7200));
      for (World& each : worlds) each.Pass(pause);
      World& world = worlds[random.Below(worlds.size())];
      const bool asks = !world.requests.empty();
      switch (random.Below(6)) {
        case 0:
          if (asks && StateOf(world.requests[0]) == RequestState::kUnanswered) {
            world.Provision();
            cost_by_day[DayOf(world.requests[0].meta.creation_timestamp)] += 4 * kDollar;
            ++bought;
          }
          break;
        case 1:
          if (asks) world.Fail("QuotaExceeded");
          break;
        case 2:
          if (asks) world.Answer("CapacityRevoked", testing::kTrue, "CapacityRevoked", "gone");
          break;
        case 3: world.Evict(); break;
        default: break;
      }
      if (random.Below(4) == 0) world.crash_after = static_cast<int>(random.Below(3));
      world.Settle();
      world.crash_after = -1;
      if (world.check().state == CheckState::kRetry) world.Evict();
      if (!world.workload.status.admission) world.GiveQuota();
      blocked += world.check().message.find("of the day in use") == std::string::npos ? 0 : 1;
    }
    for (const auto& [day, cost] : cost_by_day) ASSERT_LE(cost, 10 * kDollar) << "day " << day;
  }
  EXPECT_GT(blocked, 100);
  EXPECT_GT(bought, 300);
}

}  // namespace
}  // namespace berth::provisioning

// Goal: the run that capacity is asked for, the warning before its end, and the budget. Method:
// tables, and the small world of world.h.
#include "provisioning/run_duration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provisioning/policy_steps.h"
#include "tests/provisioning/world.h"

namespace berth::provisioning {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using testing::World;

TEST(RunDurationTest, RequestedRunAddsMarginAndBootWithinItsBounds) {
  struct Row {
    std::int64_t expected;
    std::int32_t margin;
    std::int64_t asked;
  };
  const std::vector<Row> rows{{3000, 20, 4200},  // 3600 + 600
                              {3001, 20, 4500},  // rounded up
                              {0, 20, 600},      // the boot alone
                              {1, 20, 900},
                              {3000, 0, 3600},
                              {604800, 20, 604800},  // the policy's maximum
                              {INT64_MAX, 1000, 604800}};
  for (const Row& row : rows) {
    EXPECT_EQ(AskedRun({.margin_percent = row.margin}, row.expected), row.asked) << row.expected;
  }
  EXPECT_EQ(AskedRun({.min_seconds = 7200}, 60), 7200);
  EXPECT_EQ(AskedRun({.max_seconds = 1000}, 900), 1000) << "no rounding above the maximum";
}

World Timed() {
  World world;
  world.policy = api::ProvisioningPolicy{.meta = {.name = "p"}};
  world.policy->run_duration.emplace();
  return world;
}

const std::string& RunOf(const World& world) {
  return world.requests.front().parameters.at("maxRunDurationSeconds");
}

TEST(RunDurationTest, ActiveDeadlineOfTheJobIsRequested) {
  World world = Timed();
  world.job_deadline = 3000;
  world.Settle();
  EXPECT_EQ(RunOf(world), "4200");
}

TEST(RunDurationTest, TheMaximumExecutionTimeComesFirst) {
  World world = Timed();
  world.job_deadline = 3000;
  world.workload.spec.maximum_execution_time_seconds = 600;
  world.Settle();
  EXPECT_EQ(RunOf(world), "1500");
}

TEST(RunDurationTest, ExplicitParameterHasPrecedence) {
  World world = Timed();
  world.job_deadline = 3000;
  world.config.parameters = {{"maxRunDurationSeconds", "5000"}};
  world.Settle();
  EXPECT_EQ(RunOf(world), "5000");
  World annotated = Timed();
  annotated.job_deadline = 3000;
  annotated.workload.meta.annotations = {{"provreq.kueue.x-k8s.io/maxRunDurationSeconds", "700"}};
  annotated.Settle();
  EXPECT_EQ(RunOf(annotated), "700");
}

TEST(RunDurationTest, NoRunIsRequestedWithoutSourcePolicyOrSupportingClass) {
  World unknown = Timed();
  World other_class = Timed();
  other_class.job_deadline = 3000;
  other_class.config.provisioning_class_name = "check-capacity.autoscaling.x-k8s.io";
  World no_rule = Timed();
  no_rule.job_deadline = 3000;
  no_rule.policy->run_duration.reset();
  World no_policy = Timed();
  no_policy.job_deadline = 3000;
  no_policy.policy.reset();
  for (World* world : {&unknown, &other_class, &no_rule, &no_policy}) {
    world->Settle();
    ASSERT_THAT(world->requests, SizeIs(1));
    EXPECT_EQ(world->requests.front().parameters.count("maxRunDurationSeconds"), 0U);
  }
}

TEST(ExpiryGuardTest, EmitsOneEventFifteenMinutesBeforeTheEnd) {
  World world = Timed();
  world.job_deadline = 3000;
  world.Settle();
  world.Provision();
  world.Settle();
  world.Admit();
  world.Settle();
  EXPECT_EQ(world.workload.meta.annotations.at(api::kExpiresAtAnnotation), "2023-11-14T23:23:20Z");
  EXPECT_EQ(world.last.next_wake, std::chrono::seconds(3300));
  world.Pass(3299);
  world.Settle();
  EXPECT_THAT(world.events, Not(Contains(HasSubstr("CapacityExpiring"))));
  world.Pass(1);
  world.Settle();
  EXPECT_EQ(world.events.back(),
            "Warning CapacityExpiring: dws-prov: the cloud takes the capacity back at "
            "2023-11-14T23:23:20Z; save state, or ask for a longer run (maxRunDurationSeconds)");
  const std::size_t told = world.events.size();
  world.Pass(60);
  world.Settle();
  EXPECT_THAT(world.events, SizeIs(told));
  world.Evict();
  world.Settle();
  EXPECT_EQ(world.workload.meta.annotations.count(api::kExpiresAtAnnotation), 0U);
}

TEST(ExpiryGuardTest, PolicyEndsTheRunBeforeTheCloudDoes) {
  World world = Timed();
  world.config.parameters = {{"maxRunDurationSeconds", "1000"}};
  world.policy->evict_before_seconds = 120;
  world.policy->steps = {{.name = "only", .max_attempts = 3}};
  world.Settle();
  world.Provision();
  world.Settle();
  world.Admit();
  world.Settle();
  world.Pass(879);
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kReady);
  EXPECT_EQ(world.last.next_wake, std::chrono::seconds(1));
  world.Pass(1);
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kRetry);
  EXPECT_THAT(world.check().message, HasSubstr("step only: the cloud takes the capacity back at"));
  EXPECT_EQ(world.check().requeue_after_seconds, 0) << "the capacity was there: no backoff";
  EXPECT_EQ(world.memory.at("dws-prov").outcomes.back().reason, kCapacityEndsReason);
}

// World::Settle fails where the memory is written again and again.
TEST(ExpiryGuardTest, HoldingPolicyEndsTheRunThenHoldsTheWorkload) {
  World world = Timed();
  world.config.parameters = {{"maxRunDurationSeconds", "1000"}};
  world.policy->evict_before_seconds = 120;
  world.policy->when_exhausted = api::ProvisioningPolicy::WhenExhausted::kHold;
  world.policy->steps = {{.name = "only", .max_attempts = 1}};
  world.Settle();
  world.Provision();
  world.Settle();
  world.Admit();
  world.Settle();
  world.Pass(880);
  world.Settle();
  EXPECT_EQ(world.memory.at("dws-prov").outcomes.size(), 1U);
  EXPECT_EQ(world.check().state, api::CheckState::kRetry);
  EXPECT_THAT(world.check().message, HasSubstr("No step is left after step only: the cloud takes"));
  EXPECT_EQ(world.avoided(), "") << "the flavor is not to blame";
  world.Evict();
  world.GiveQuota();
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kPending) << "held, with its quota";
  EXPECT_THAT(world.requests, IsEmpty()) << "the capacity is given back";
  world.policy->steps[0].max_attempts = 2;
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(testing::Pr(2)));
}

TEST(ExpiryGuardTest, WithoutAPolicyWritesNoMemory) {
  World world = Timed();
  world.policy.reset();
  world.config.parameters = {{"maxRunDurationSeconds", "1000"}};
  world.Settle();
  world.Provision();
  world.Settle();
  world.Admit();
  world.Pass(900);
  world.Settle();
  EXPECT_EQ(world.memory_writes, 0);
}

// Four nodes of 3.5 USD an hour for an hour.
World Dear() {
  World world = Timed();
  world.workload.spec.pod_sets.front().count = 4;
  world.GiveQuota();
  api::ProvisioningStep step{.name = "dws"};
  step.price_per_hour = *api::Quantity::Parse("3.5");
  world.policy->steps = {step};
  world.job_deadline = 3600;
  world.policy->max_cost = *api::Quantity::Parse("10");
  return world;
}

TEST(BudgetTest, AJobAboveTheBudgetWaitsUntilTheBudgetIsRaised) {
  World world = Dear();
  world.Settle();
  EXPECT_THAT(world.requests, IsEmpty());
  EXPECT_EQ(world.check().state, api::CheckState::kPending);
  EXPECT_EQ(world.check().message,
            "No step may request capacity: step dws (BudgetExceeded): would cost 14 USD (4 nodes "
            "at 3.5 USD an "
            "hour for 3600 s), the budget is 10. What helps (an administrator): raise "
            "perWorkloadUSD or perLocalQueueUSDPerDay of the budget, or make the job smaller");
  world.policy->max_cost = *api::Quantity::Parse("14");
  world.Settle();
  EXPECT_THAT(world.requests, SizeIs(1));
}

TEST(BudgetTest, PodsThatShareANodeCostOneNode) {
  World world = Dear();
  world.policy->steps[0].pool = {.name = "p", .max_nodes = 4, .node = {{"nvidia.com/gpu", 2}}};
  world.Settle();
  EXPECT_THAT(world.requests, SizeIs(1)) << world.check().message;
}

TEST(BudgetTest, RequestedRunCountsIfTheJobHasNoDeadline) {
  World world = Dear();
  world.job_deadline.reset();
  world.config.parameters = {{"maxRunDurationSeconds", "7200"}};
  world.Settle();
  EXPECT_THAT(world.check().message, HasSubstr("would cost 28 USD"));
}

TEST(BudgetTest, AnUnknownCostIsAboveTheBudget) {
  World no_run = Dear();
  no_run.job_deadline.reset();
  World no_price = Dear();
  no_price.policy->steps[0].price_per_hour.reset();
  for (World* world : {&no_run, &no_price}) {
    world->Settle();
    EXPECT_THAT(world->requests, IsEmpty());
    EXPECT_THAT(world->check().message,
                HasSubstr("step dws (BudgetExceeded): its cost is unknown"));
  }
}

}  // namespace
}  // namespace berth::provisioning

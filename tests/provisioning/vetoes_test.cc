// Goal: which steps of a policy are passed over without a request: pools that can never hold the
// pods, prices above a limit. Method: tables over shapes and prices, and the small world of world.h
// for the consequence.
#include "provisioning/vetoes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provisioning/money.h"
#include "tests/provisioning/world.h"

namespace berth::provisioning {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::World;

api::Quantity Price(const char* text) { return *api::Quantity::Parse(text); }

struct ShapeRow {
  const char* name;
  std::vector<GangPart> parts;
  api::ResourceAmounts node;
  std::int64_t nodes;
  const char* short_of = "";
};

TEST(GangTest, ScarcestResourceDecidesTheFewestNodes) {
  const std::vector<ShapeRow> rows{
      {"one each", {{5, {{"gpu", 1}}, {}}}, {{"gpu", 1}}, 5},
      {"several on a node", {{5, {{"gpu", 2}}, {}}}, {{"gpu", 8}}, 2},
      {"a rest of a node is of no use", {{3, {{"gpu", 5}}, {}}}, {{"gpu", 8}}, 3},
      {"the scarcest resource counts",
       {{4, {{"cpu", 900}, {"gpu", 1}}, {}}},
       {{"cpu", 1000}, {"gpu", 8}},
       4},
      {"parts share nodes", {{1, {{"gpu", 4}}, {}}, {1, {{"gpu", 4}}, {}}}, {{"gpu", 8}}, 1},
      {"the sum of the parts", {{1, {{"gpu", 4}}, {}}, {2, {{"gpu", 3}}, {}}}, {{"gpu", 8}}, 2},
      {"too large", {{1, {{"gpu", 16}}, {}}}, {{"gpu", 8}}, 0, "gpu"},
      {"unlimited elsewhere", {{7, {{"disk", 1}}, {}}}, {{"gpu", 8}}, 1},
      {"nothing is asked", {}, {{"gpu", 8}}, 0},
      {"saturates", {{INT64_MAX, {{"gpu", INT64_MAX}}, {}}}, {{"gpu", INT64_MAX}}, INT64_MAX},
  };
  for (const ShapeRow& row : rows) {
    const NodesNeeded needed = LeastNodes({row.parts}, row.node);
    EXPECT_EQ(needed.short_of, row.short_of) << row.name;
    EXPECT_EQ(needed.short_of.empty() ? needed.nodes : 0, row.nodes) << row.name;
  }
}

TEST(GangTest, CountsTheLeastPodsThatMayStart) {
  World world;
  world.AddPodSet("cpu-only", 3, {{"cpu", 100}});
  world.AddPodSet("workers", 8, {{"nvidia.com/gpu", 1}});
  world.workload.spec.pod_sets.back().min_count = 2;
  EXPECT_EQ(GangOf(world.workload, world.config).pods(), 1 + 2);
}

// A world with two steps of flavors spot and demand, each with a pool of one-GPU nodes.
World TwoPools(std::int32_t spot_nodes, std::int32_t demand_nodes) {
  World world;
  api::ProvisioningStep spot{.name = "spot", .flavor = "spot"};
  spot.pool = {.name = "spot-pool", .max_nodes = spot_nodes, .node = {{"nvidia.com/gpu", 1}}};
  api::ProvisioningStep demand{.name = "demand", .flavor = "demand"};
  demand.pool = {.name = "demand-pool", .max_nodes = demand_nodes, .node = {{"nvidia.com/gpu", 1}}};
  world.policy = api::ProvisioningPolicy{.meta = {.name = "p"}, .steps = {spot, demand}};
  world.workload.spec.pod_sets.front().count = 5;
  world.GiveQuota("spot");
  return world;
}

TEST(VetoTest, WorkloadThatNoPoolCanHoldIsRejectedAtOnce) {
  World world = TwoPools(4, 3);
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kRejected);
  EXPECT_EQ(world.check().message,
            "No step may request capacity: step spot (NeverFits): needs 5 nodes, pool spot-pool "
            "has at most 4; "
            "step demand (NeverFits): needs 5 nodes, pool demand-pool has at most 3. What helps "
            "(the user): ask for fewer or smaller pods; an admin may enlarge the pool, also in the "
            "policy");
  EXPECT_THAT(world.requests, IsEmpty());
  EXPECT_THAT(world.events, ::testing::Contains(HasSubstr("dws-prov: NeverFits (shape): ask for")));
}

TEST(VetoTest, AStepWhosePoolIsTooSmallIsPassedOver) {
  World world = TwoPools(4, 5);
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kRetry);
  EXPECT_EQ(world.check().message,
            "Going on with step demand; passed over: step spot (NeverFits): needs 5 nodes, pool "
            "spot-pool has at most 4");
  EXPECT_EQ(world.avoided(), "spot");
  EXPECT_THAT(world.memory, IsEmpty()) << "a veto is stored nowhere";
  world.Evict();
  world.Settle();
  EXPECT_EQ(world.avoided(), "spot") << "the same without quota";
  world.GiveQuota("demand");
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre("job-sample-job-e80e2-dws-prov-2"));
  EXPECT_EQ(world.requests.front().meta.annotations.at(api::kProvisioningStepAnnotation), "demand");
}

TEST(VetoTest, EditedPolicyTakesEffectAndKeepsTheRequest) {
  World world = TwoPools(5, 5);
  world.Settle();
  ASSERT_EQ(world.requests.size(), 1U);
  world.policy->steps[0].pool->max_nodes = 4;
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kPending) << world.check().message;
  EXPECT_EQ(world.requests.size(), 1U) << "a veto ends no request";
  world.Fail("ResourcePoolExhausted", "None.");
  world.Settle();
  EXPECT_EQ(world.check().message, "Going on with step demand after step spot: None.");
}

TEST(VetoTest, StepAboveThePriceLimitIsNeverRequested) {
  World world = TwoPools(5, 5);
  world.policy->max_price_per_hour = Price("10");
  world.policy->steps[0].price_per_hour = Price("3.5");
  world.policy->steps[1].price_per_hour = Price("40");
  world.policy->steps[0].max_attempts = 1;
  world.Settle();
  ASSERT_EQ(world.requests.size(), 1U);
  world.Fail("ResourcePoolExhausted", "None.");
  world.Settle();
  EXPECT_EQ(
      world.check().message,
      "No step is left after step spot: None.; passed over: step demand (PriceLimitExceeded): "
      "a node costs 40 USD an hour, the limit is 10");
  EXPECT_EQ(world.check().requeue_after_seconds, 1800) << "the chain begins anew";
}

TEST(VetoTest, WorkloadVetoedOnlyByPricesStaysPending) {
  World world = TwoPools(5, 5);
  world.policy->max_price_per_hour = Price("1");
  world.policy->steps[0].price_per_hour = Price("3.5");
  world.flavors["demand"].meta.annotations = {{api::kPricePerHourAnnotation, "1.5"}};
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kPending);
  EXPECT_EQ(world.check().message,
            "No step may request capacity: step spot (PriceLimitExceeded): a node costs 3.5 USD an "
            "hour, the "
            "limit is 1; step demand (PriceLimitExceeded): a node costs 1.5 USD an hour, the limit "
            "is 1. What helps (an administrator): raise maxPricePerHour of the policy or of its "
            "step, or correct the price");
  EXPECT_THAT(world.events, ::testing::Contains(HasSubstr("PriceLimitExceeded (limit): raise")));
  EXPECT_THAT(world.requests, IsEmpty());
  world.policy->max_price_per_hour = Price("4");
  world.Settle();
  EXPECT_EQ(world.requests.size(), 1U);
}

TEST(VetoTest, UnknownPriceIsAboveEveryLimit) {
  World world = TwoPools(5, 5);
  world.policy->steps[0].max_price_per_hour = Price("10");
  world.flavors["spot"].meta.annotations = {{api::kPricePerHourAnnotation, "cheap"}};
  world.Settle();
  EXPECT_THAT(world.check().message,
              HasSubstr("step spot (PriceLimitExceeded): its price is unknown: set pricePerHour of "
                        "the step, or the "
                        "annotation berth.dev/price-per-hour of its flavor"));
}

TEST(VetoTest, StepIsPassedOverForJobsThatMayRunLonger) {
  World world = TwoPools(5, 5);
  world.policy->steps[0].max_run_seconds = 3600;
  world.workload.spec.maximum_execution_time_seconds = 3601;
  world.Settle();
  EXPECT_THAT(world.check().message,
              HasSubstr("step spot (RunTooLong): the job may run for 3601 s, the limit is 3600"));
  EXPECT_EQ(world.avoided(), "spot");
  EXPECT_THAT(world.requests, IsEmpty());
}

TEST(VetoTest, StepWithARunLimitRequestsForShortAndUnknownRuns) {
  for (const std::optional<std::int32_t> run :
       {std::optional(3600), std::optional<std::int32_t>()}) {
    World world = TwoPools(5, 5);
    world.policy->steps[0].max_run_seconds = 3600;
    world.workload.spec.maximum_execution_time_seconds = run;
    world.Settle();
    EXPECT_EQ(world.requests.size(), 1U) << run.value_or(0);
  }
}

TEST(VetoTest, RunIsReadFromTheJobsParameter) {
  World world = TwoPools(5, 5);
  world.policy->steps[0].max_run_seconds = 3600;
  world.workload.meta
      .annotations[std::string(api::kProvisioningParameterPrefix) + "maxRunDurationSeconds"] =
      "7200";
  world.Settle();
  EXPECT_THAT(world.check().message, HasSubstr("the job may run for 7200 s"));
}

TEST(MoneyTest, DollarsAreRoundedToSixDecimals) {
  EXPECT_EQ(Dollars(0), "0");
  EXPECT_EQ(Dollars(40'000'000'000), "40");
  EXPECT_EQ(Dollars(445'000'000), "0.445");
  EXPECT_EQ(Dollars(3'673'385'499), "3.673385");
  EXPECT_EQ(Dollars(999'999'500), "1");
  EXPECT_EQ(Dollars(-1'500'000'000), "-1.5");
  EXPECT_EQ(Dollars(-1), "0");
  EXPECT_EQ(Dollars(INT64_MAX), "9223372036.854776");
  EXPECT_EQ(Dollars(INT64_MIN), "-9223372036.854776");
}

TEST(PolicyTest, UnservedClassEndsItsStepAfterTheTimeout) {
  World world = TwoPools(5, 5);
  world.policy->steps[0].provisioning_class_name = "mistyped.example.com";
  world.policy->answer_timeout_seconds = 300;
  world.Settle();
  EXPECT_EQ(world.last.next_wake, std::chrono::seconds(120));
  world.Pass(299);
  world.Settle();
  EXPECT_EQ(world.check().message, "no controller has answered for class \"mistyped.example.com\"");
  EXPECT_EQ(world.last.next_wake, std::chrono::seconds(1));
  world.Pass(1);
  world.Settle();
  EXPECT_EQ(world.check().message,
            "Going on with step demand after step spot: no controller has answered for class "
            "\"mistyped.example.com\"");
  EXPECT_TRUE(world.memory.at("dws-prov").steps.at("spot").over);
}

}  // namespace
}  // namespace berth::provisioning

// Goal: a step asks in one of its zones: the templates and the pods select the zone, zones take
// turns, zones that rest or that the pods exclude are passed over. Method: the small world of
// world.h; the test plays the cloud.
#include "provisioning/zones.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/provisioning/world.h"

namespace berth::provisioning {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::World;

constexpr char kZone[] = "topology.kubernetes.io/zone";

// A world with one step in the zones a, b and c.
World Zoned() {
  World world;
  api::ProvisioningStep step{.name = "gpu", .flavor = "gpu"};
  step.zones = {"a", "b", "c"};
  world.policy = api::ProvisioningPolicy{.meta = {.name = "p"}, .steps = {step}};
  return world;
}

std::string AskedZone(const World& world) {
  return world.requests.empty()
             ? "none"
             : world.requests.back().meta.annotations.at(api::kProvisioningZoneAnnotation);
}

TEST(ZonesTest, TheTemplatesAndThePodsSelectTheZone) {
  World world = Zoned();
  const Decision decision = Decide(world.Observe(), world.options, world.now);
  ASSERT_FALSE(decision.actions.empty());
  const auto* made = std::get_if<CreateTemplate>(&decision.actions.front());
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->pod_template.spec.node_selector, (api::StringMap{{kZone, "a"}}));
  world.Settle();
  EXPECT_EQ(AskedZone(world), "a");
  world.Provision();
  world.Settle();
  ASSERT_EQ(world.check().state, api::CheckState::kReady);
  EXPECT_EQ(world.check().pod_set_updates.front().node_selector, (api::StringMap{{kZone, "a"}}));
}

TEST(ZonesTest, StepWithoutZonesRequestsNoZone) {
  World world = Zoned();
  world.policy->steps.front().zones.clear();
  world.Settle();
  EXPECT_EQ(world.requests.front().meta.annotations.count(api::kProvisioningZoneAnnotation), 0U);
  world.Provision();
  world.Settle();
  EXPECT_THAT(world.check().pod_set_updates.front().node_selector, IsEmpty());
}

TEST(ZonesTest, ZonesTakeTurnsWithHeldQuotaAndTheRoundEndsWithABackoff) {
  World world = Zoned();
  world.Settle();
  for (const char* zone : {"b", "c"}) {
    world.Fail("ResourcePoolExhausted", "None.");
    world.Settle();
    EXPECT_EQ(AskedZone(world), zone);
    EXPECT_EQ(world.check().state, api::CheckState::kPending);
    EXPECT_THAT(world.check().message, HasSubstr("Going on in another zone after step gpu: zone "));
  }
  world.Fail("ResourcePoolExhausted", "None.");
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kRetry);
  EXPECT_EQ(world.check().message, "Retrying after step gpu: zone c: None.");
  EXPECT_GT(world.check().requeue_after_seconds, 0);
}

TEST(ZonesTest, ZonesShareTheWaitingTimeOfTheStep) {
  World world = Zoned();
  world.policy->max_wait_seconds = 900;
  world.Settle();
  for (const char* zone : {"a", "b", "c"}) {
    EXPECT_EQ(AskedZone(world), zone);
    EXPECT_EQ(world.requests.back().parameters.at("ValidUntilSeconds"), "360");
    world.Pass(299);
    world.Settle();
    EXPECT_EQ(AskedZone(world), zone);
    world.Pass(1);
    world.Settle();
  }
  EXPECT_EQ(world.check().message,
            "No step is left after step gpu: zone c: no capacity within 300 s");
}

TEST(ZonesTest, EachZoneHasTheStepsAttempts) {
  World world = Zoned();
  world.config.backoff_limit_count = 1;
  world.Settle();
  for (int asked = 1; asked <= 6; ++asked) {
    ASSERT_FALSE(world.requests.empty()) << asked;
    world.Fail("ResourcePoolExhausted", "None.");
    world.Settle();
    if (asked != 3) continue;
    world.Pass(*world.check().requeue_after_seconds);
    world.Evict();
    world.Settle();
    world.GiveQuota();
    world.Settle();
  }
  EXPECT_EQ(world.check().message, "No step is left after step gpu: zone c: None.");
}

TEST(ZonesTest, PermanentFailureOfAZoneEndsNoOtherZone) {
  World world = Zoned();
  world.Settle();
  world.Fail("ZoneNotSupported", "Never there.");
  world.Settle();
  EXPECT_EQ(AskedZone(world), "b");
  EXPECT_FALSE(world.memory.at("dws-prov").steps.at("gpu").over);
  for (int zone = 0; zone < 2; ++zone) {
    world.Fail("ZoneNotSupported", "Never there.");
    world.Settle();
  }
  EXPECT_EQ(world.check().message, "No step is left after step gpu: zone c: Never there.");
}

TEST(ZonesTest, RestingZoneIsPassedOverByAllWorkloads) {
  World first = Zoned();
  first.stock.emplace();
  first.Settle();
  first.Fail("ResourcePoolExhausted", "None.");
  first.Settle();
  EXPECT_EQ(AskedZone(first), "b");
  World second = Zoned();
  second.stock = first.stock;
  second.Settle();
  EXPECT_EQ(AskedZone(second), "b");
  second.Fail("ResourcePoolExhausted", "None.");
  second.Settle();
  EXPECT_EQ(AskedZone(second), "c");
  second.Fail("ResourcePoolExhausted", "None.");
  second.Settle();
  EXPECT_EQ(second.check().state, api::CheckState::kRetry) << "every zone rests";
  World third = Zoned();
  third.stock = second.stock;
  third.Settle();
  EXPECT_THAT(third.requests, IsEmpty());
  EXPECT_THAT(third.check().message,
              HasSubstr("step gpu (OutOfStockRecently): all zones rest, a until "));
}

TEST(ZonesTest, PodsAndFlavorsRestrictTheZones) {
  World world = Zoned();
  auto& selector = world.workload.spec.pod_sets.front().pod_template.spec.node_selector;
  selector[kZone] = "b";
  world.Settle();
  EXPECT_EQ(AskedZone(world), "b");
  World other = Zoned();
  other.flavors["gpu"].node_labels[kZone] = "z";
  other.Settle();
  EXPECT_THAT(other.requests, IsEmpty());
  EXPECT_EQ(other.check().message,
            "No step may request capacity: step gpu (ZoneExcluded): asks in a, b, c, but the pods "
            "or their "
            "flavor are bound to zone z. What helps (an administrator): correct zones of the "
            "policy's step, or the zone of the flavor or of the pods");
  EXPECT_EQ(other.check().state, api::CheckState::kPending) << "an edit of the policy mends it";
  other.policy->steps.front().zones.emplace_back("z");
  other.Settle();
  EXPECT_EQ(AskedZone(other), "z");
}

TEST(ZonesTest, RequestInARemovedZoneIsReplaced) {
  World world = Zoned();
  world.Settle();
  ASSERT_EQ(AskedZone(world), "a");
  world.policy->steps.front().zones = {"c", "b"};
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(HasSubstr("-2")));
  EXPECT_EQ(AskedZone(world), "c");
}

}  // namespace
}  // namespace berth::provisioning

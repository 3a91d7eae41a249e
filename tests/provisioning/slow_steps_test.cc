// Goal: a step is passed over while a later one is expected to have nodes sooner by more than its
// minEtaGainSeconds, and only then. Method: a stock memory that is filled by hand, and the small
// world of world.h for the consequence.
#include "provisioning/slow_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/provisioning/world.h"

namespace berth::provisioning {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::World;

constexpr int kSlowWait = 3600;

// Three steps of three flavors; flex is passed over for ten minutes' gain.
World Chain() {
  World world;
  api::ProvisioningStep flex{.name = "flex", .flavor = "flex"};
  flex.min_eta_gain_seconds = 600;
  world.policy = api::ProvisioningPolicy{
      .meta = {.name = "p"},
      .steps = {flex, {.name = "spot", .flavor = "spot"}, {.name = "demand", .flavor = "demand"}}};
  world.stock.emplace();
  world.GiveQuota("flex");
  return world;
}

// `count` requests that were granted after `wait` seconds, the last one `ago` seconds ago.
void Granted(World& world, const std::string& flavor, int count, std::int64_t wait, int ago) {
  const auto key = StockKeyOf(world.workload, world.config, flavor, {flavor});
  for (int at = 0; at < count; ++at) {
    StockLesson lesson{.provisioning_class = world.config.provisioning_class_name, .key = *key};
    lesson.outcome = {.id = flavor + std::to_string(ago) + "-" + std::to_string(at),
                      .asked_at = world.now - seconds(ago + at) - seconds(wait),
                      .wait_seconds = wait,
                      .pods = 1,
                      .result = api::StockResult::kGranted};
    lesson.at = world.now - seconds(ago + at);
    world.stock->Record(lesson);
  }
}

Vetoes VetoesIn(const World& world) {
  return VetoesOf(
      {*world.policy, world.config, world.workload, &world.flavors, &*world.stock, world.now});
}

TEST(SlowStepsTest, ASlowStepIsPassedOver) {
  World world = Chain();
  Granted(world, "flex", 20, kSlowWait, 60);
  Granted(world, "spot", 20, 100, 60);
  const Vetoes vetoes = VetoesIn(world);
  ASSERT_EQ(vetoes.size(), 1U);
  const Veto& veto = vetoes.at("flex");
  EXPECT_EQ(veto.reason, kSlowerReason);
  EXPECT_EQ(veto.in_favor_of, "spot");
  EXPECT_GT(veto.until, world.now + seconds(600)) << "the gain";
  EXPECT_LE(veto.until, world.now + seconds(kSlowWait - 100));
  EXPECT_THAT(veto.message, HasSubstr("s for nodes (n=20), step spot "));
  EXPECT_THAT(veto.message, HasSubstr("more than minEtaGainSeconds (600) sooner"));
}

struct SlowRow {
  const char* name;
  std::int64_t flex_wait;
  int flex_ago;
  std::int64_t spot_wait;
  std::int64_t gain;
  bool passed_over;
};

TEST(SlowStepsTest, OnlyALargeEnoughAndFreshGainCounts) {
  const std::vector<SlowRow> rows{
      {"slower by an hour", kSlowWait, 60, 100, 600, true},
      {"slower by less than the gain", 500, 60, 100, 600, false},
      {"quicker than the next", 100, 60, kSlowWait, 600, false},
      {"no such field", kSlowWait, 60, 100, 0, false},
      {"the last outcome is old", kSlowWait, 7 * kSlowWait, 100, 600, false},
  };
  for (const SlowRow& row : rows) {
    World world = Chain();
    world.policy->steps.front().min_eta_gain_seconds = row.gain;
    Granted(world, "flex", 20, row.flex_wait, row.flex_ago);
    Granted(world, "spot", 20, row.spot_wait, 60);
    EXPECT_EQ(VetoesIn(world).contains("flex"), row.passed_over) << row.name;
  }
  World world = Chain();
  Granted(world, "spot", 20, 100, 60);
  EXPECT_THAT(VetoesIn(world), IsEmpty()) << "nothing is known of the step itself";
}

TEST(SlowStepsTest, SlowStepIsComparedWithTheNextAllowedStep) {
  World world = Chain();
  Granted(world, "flex", 20, kSlowWait, 60);
  Granted(world, "demand", 20, 50, 60);
  world.policy->steps[1].max_price_per_hour = *api::Quantity::Parse("1");
  EXPECT_EQ(VetoesIn(world).at("flex").in_favor_of, "demand") << "the price of spot is unknown";
  // A chain of slow steps leads to the quick one.
  world.policy->steps[1] = {.name = "spot", .flavor = "spot"};
  world.policy->steps[1].min_eta_gain_seconds = 60;
  Granted(world, "spot", 20, kSlowWait / 2, 60);
  EXPECT_EQ(VetoesIn(world).at("flex").in_favor_of, "demand");
  EXPECT_EQ(VetoesIn(world).at("spot").in_favor_of, "demand");
  EXPECT_FALSE(VetoesIn(world).contains("demand"));
}

TEST(SlowStepsTest, SlowStepIsUsedOnceTheQuickStepsAreExhausted) {
  World world = Chain();
  world.policy->steps.pop_back();
  world.policy->steps[1].max_attempts = 1;
  Granted(world, "flex", 20, kSlowWait, 60);
  Granted(world, "spot", 20, 100, 60);
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kRetry);
  EXPECT_THAT(
      world.check().message,
      HasSubstr(
          "Going on with step spot; passed over: step flex (SlowerThanNext): is expected to wait"));
  EXPECT_EQ(world.avoided(), "flex");
  EXPECT_TRUE(world.last.next_wake) << "the expectation ends";
  world.Evict();
  world.GiveQuota("spot");
  world.Settle();
  ASSERT_EQ(world.requests.size(), 1U);
  world.Fail("OutOfStock", "none");
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kRetry);
  EXPECT_THAT(world.check().message, HasSubstr("Going on with step flex after step spot"));
  EXPECT_EQ(world.avoided(), "spot") << "a slow step is better than none";
  world.Evict();
  world.GiveQuota("flex");
  world.Settle();
  ASSERT_EQ(world.requests.size(), 1U);
  EXPECT_EQ(world.requests.front().meta.annotations.at(api::kProvisioningStepAnnotation), "flex");
}

// A queue without the flavor of the quick step, or whose quota of it is used for days.
TEST(SlowStepsTest, StepIsPassedOverNoLongerThanTheGain) {
  World world = Chain();
  Granted(world, "flex", 20, kSlowWait, 60);
  Granted(world, "spot", 20, 100, 60);
  world.Settle();
  ASSERT_EQ(world.avoided(), "flex");
  const Duration gain = *world.last.next_wake;
  EXPECT_GT(gain, seconds(600));
  world.Evict();
  world.Settle();
  world.now += gain - seconds(60);
  world.Settle();
  EXPECT_EQ(world.avoided(), "flex") << "the quota of spot may still come in time";
  world.now += seconds(61);
  world.Settle();
  EXPECT_EQ(world.avoided(), "");
  world.GiveQuota("flex");
  world.Settle();
  ASSERT_EQ(world.requests.size(), 1U);
  EXPECT_EQ(world.requests.front().meta.annotations.at(api::kProvisioningStepAnnotation), "flex");
  // After a failure the expectations count anew.
  world.Fail("OutOfStock", "none");
  world.Settle();
  EXPECT_EQ(world.avoided(), "flex");
}

TEST(SlowStepsTest, FailedRequestIsFollowedByTheQuickStep) {
  World world = Chain();
  std::swap(world.policy->steps[0], world.policy->steps[1]);  // spot, flex, demand
  world.policy->steps[0].max_wait_seconds = 100;
  Granted(world, "flex", 20, kSlowWait, 60);
  Granted(world, "demand", 20, 100, 60);
  world.Evict();
  world.GiveQuota("spot");
  world.Settle();
  ASSERT_EQ(world.requests.size(), 1U);
  world.Pass(100);
  world.Settle();
  EXPECT_THAT(world.check().message, HasSubstr("Going on with step demand after step spot"));
  EXPECT_EQ(world.avoided(), "flex,spot");
  world.Evict();
  world.GiveQuota("demand");
  world.Settle();
  ASSERT_EQ(world.requests.size(), 1U);
  EXPECT_EQ(world.avoided(), "flex,spot") << "nothing is written while the request waits";
}

TEST(SlowStepsTest, ExistingRequestIsKept) {
  World world = Chain();
  world.Settle();
  ASSERT_EQ(world.requests.size(), 1U);
  Granted(world, "flex", 20, kSlowWait, 60);
  Granted(world, "spot", 20, 100, 60);
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kPending);
  EXPECT_EQ(world.requests.size(), 1U);
  EXPECT_EQ(world.avoided(), "");
}

}  // namespace
}  // namespace berth::provisioning

// Goal: a gang for an autoscaler that only reacts starts when each of its pods has a node, and not
// before; placeholders go with the start, with the time limit, and with the Workload's quota.
// Method: a small world that performs decisions, with crashes in between; the test plays scheduler
// and cloud. 100 random stories; a failing seed is named.
#include "provisioning/placeholders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/labels.h"
#include "api/reasons.h"
#include "base/random.h"
#include "provisioning/reactive.h"

namespace berth::provisioning {
namespace {

using api::CheckState;
using api::ConditionStatus;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kGang = 3;

class GangWorld {
 public:
  GangWorld() {
    workload.meta = {.namespace_name = "default", .name = "job-train", .uid = "wl-uid"};
    api::PodSet main{.name = "main", .count = kGang};
    api::Container container;
    container.requests = {{"cpu", 1000}, {"nvidia.com/gpu", 1}};
    main.pod_template.spec.containers = {container};
    workload.spec.pod_sets = {main};
    workload.status.admission_checks = {{.name = "nodes", .last_transition_time = now}};
    policy.placeholders.emplace();
    policy.placeholders->priority_class = "berth-placeholder";
    flavors["low"].node_labels = {{"pool", "low"}};
    GiveQuota();
  }

  void SetCondition(const char* type, ConditionStatus status) {
    api::SetCondition(workload.status.conditions,
                      {.type = type, .status = status, .last_transition_time = now});
  }
  void GiveQuota() {
    workload.status.admission = api::Admission{.cluster_queue = "cq"};
    workload.status.admission->pod_set_assignments = {
        {.name = "main", .flavors = {{"nvidia.com/gpu", "low"}}, .count = kGang}};
    SetCondition(api::kQuotaReserved, ConditionStatus::kTrue);
    SetCondition(api::kEvicted, ConditionStatus::kFalse);
  }
  void Evict() {
    const std::int32_t retries = check().retry_count.value_or(0) + 1;
    check() = {.name = "nodes", .last_transition_time = now, .retry_count = retries};
    SetCondition(api::kEvicted, ConditionStatus::kTrue);
    SetCondition(api::kQuotaReserved, ConditionStatus::kFalse);
    workload.status.admission.reset();
  }
  void MakePods(int count) {
    for (int at = 0; at < count; ++at) {
      pods.emplace_back().meta.name = "p" + std::to_string(at);
      pods.back().phase = "Pending";
    }
  }
  void Bind(std::size_t at) { placeholders.at(at).spec.node_name = "n" + std::to_string(at); }

  api::AdmissionCheckState& check() { return workload.status.admission_checks.front(); }

  // Performs the first `most` writes of the decision. Returns whether there were any.
  bool Round(std::size_t most = SIZE_MAX) {
    ReactiveSituation situation{.workload = &workload};
    situation.checks = {{"nodes", &policy, true}};
    for (const api::Pod& each : pods) situation.pods.push_back(&each);
    for (const api::Pod& each : placeholders) situation.placeholders.push_back(&each);
    situation.flavors = &flavors;
    situation.memory = memory;
    situation.stock = stock ? &*stock : nullptr;
    last = DecideReactive(situation, now);
    for (const StockLesson& lesson : last.lessons) stock->Record(lesson);
    if (!last.lessons.empty()) return true;
    if (last.memory) {
      if (most == 0) return true;
      memory = last.memory->memory;
      workload.meta.annotations[api::kReactiveAvoidedFlavorsAnnotation] =
          last.memory->avoided_flavors;
      return true;
    }
    if (!last.checks.empty() && most > 0) {
      --most;
      check() = last.checks.front();
    }
    for (const Action& action : last.actions) {
      if (most == 0) break;
      --most;
      if (const auto* make = std::get_if<CreatePlaceholder>(&action)) {
        placeholders.emplace_back().meta.name = make->name;
        made.push_back(*make);
      } else if (const auto* drop = std::get_if<DeletePlaceholder>(&action)) {
        std::erase_if(placeholders,
                      [drop](const api::Pod& each) { return each.meta.name == drop->name; });
      }
    }
    return !last.checks.empty() || !last.actions.empty();
  }
  void Settle() {
    for (int round = 0; round < 10; ++round) {
      if (!Round()) return;
    }
    ADD_FAILURE() << "does not come to rest";
  }

  api::Workload workload;
  api::ProvisioningPolicy policy{.meta = {.name = "p"}};
  api::MemoryByCheck memory;
  std::optional<StockMemory> stock;
  FlavorsByName flavors;
  std::vector<api::Pod> pods;
  std::vector<api::Pod> placeholders;
  std::vector<CreatePlaceholder> made;
  Decision last;
  WallTime now{std::chrono::seconds(1'700'000'000)};
};

TEST(PlaceholdersTest, TheJobStartsWhenAllHaveNodes) {
  GangWorld world;
  world.Settle();
  ASSERT_THAT(world.placeholders, SizeIs(kGang));
  EXPECT_EQ(world.made[0].priority_class, "berth-placeholder");
  EXPECT_EQ(world.made[0].pod_template.spec.node_selector.at("pool"), "low");
  world.Bind(0);
  world.Bind(2);
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kPending);
  EXPECT_EQ(world.check().message, "2 of 3 placeholders have nodes");
  world.Bind(1);
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kReady);
  EXPECT_THAT(world.placeholders, SizeIs(kGang)) << "the nodes are held until the pods are there";
  world.MakePods(2);
  world.Settle();
  EXPECT_THAT(world.placeholders, SizeIs(kGang));
  world.MakePods(1);
  world.Settle();
  EXPECT_THAT(world.placeholders, IsEmpty());
  EXPECT_EQ(world.check().state, CheckState::kReady);
}

TEST(PlaceholdersTest, IncompleteGangReleasesItsPlaceholdersAfterTheTimeout) {
  GangWorld world;
  world.Settle();
  world.Bind(0);
  world.now += std::chrono::seconds(900);
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kRetry);
  EXPECT_EQ(world.memory.at("nodes").outcomes.back().reason, "GangPartial");
  world.Evict();
  world.Settle();
  EXPECT_THAT(world.placeholders, IsEmpty());
}

TEST(PlaceholdersTest, SharedStockDoesNotHideTheFailure) {
  GangWorld world;
  world.stock.emplace();
  world.policy.steps = {{.name = "low", .flavor = "low"}, {.name = "demand", .flavor = "demand"}};
  world.Settle();
  world.now += std::chrono::seconds(900);
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kRetry);
  ASSERT_TRUE(world.memory.contains("nodes"));
  EXPECT_EQ(world.memory.at("nodes").outcomes.back().reason, "GangPartial");
}

TEST(PlaceholdersTest, DeletedPlaceholderIsCreatedAgain) {
  GangWorld world;
  world.Settle();
  world.placeholders.erase(world.placeholders.begin());
  world.Settle();
  EXPECT_THAT(world.placeholders, SizeIs(kGang));
}

TEST(PlaceholdersTest, PolicyWithoutPlaceholdersDeletesThem) {
  GangWorld world;
  world.Settle();
  world.policy.placeholders.reset();
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kReady);
  EXPECT_THAT(world.placeholders, IsEmpty());
}

TEST(PlaceholdersTest, PlaceholdersOfMissingPodsAreDeletedAfterTheTimeout) {
  GangWorld world;
  world.Settle();
  for (std::size_t at = 0; at < kGang; ++at) world.Bind(at);
  world.Settle();
  world.MakePods(1);
  world.now += std::chrono::seconds(900);
  world.Settle();
  EXPECT_THAT(world.placeholders, IsEmpty());
}

// The job never starts before all nodes are there, and no placeholder outlives the quota.
TEST(PlaceholdersStoryTest, GangStartsWithAllNodesOrNoneDespiteCrashes) {
  int started = 0;
  int failed = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    GangWorld world;
    for (int step = 0; step < 60; ++step) {
      world.now += std::chrono::seconds(random.Below(200));
      if (!world.placeholders.empty() && random.Below(4) == 0) {
        world.Bind(random.Below(world.placeholders.size()));
      }
      const CheckState before = world.check().state;
      std::size_t placed = 0;
      for (const api::Pod& each : world.placeholders) placed += each.spec.node_name.empty() ? 0 : 1;
      world.Round(random.Below(4));
      if (world.check().state == CheckState::kReady) {
        EXPECT_TRUE(before == CheckState::kReady || placed == kGang);
        world.MakePods(kGang);
        world.Settle();
        EXPECT_THAT(world.placeholders, IsEmpty());
        ++started;
        break;
      }
      if (world.check().state == CheckState::kRetry) {
        ++failed;
        world.Evict();
        world.Settle();
        EXPECT_THAT(world.placeholders, IsEmpty());
        world.now += std::chrono::hours(1);
        world.GiveQuota();
      }
    }
  }
  EXPECT_GT(started, 20);
  EXPECT_GT(failed, 20);
}

}  // namespace
}  // namespace berth::provisioning

// Goal: nodes stand in the windows of a policy and no longer: the Workload that asks for them
// exists exactly while a window is open, and only its nodes are kept. Method: tables of windows;
// random walks through time with crashes between the writes of a decision.
#include "provisioning/prewarm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/labels.h"
#include "api/provisioning_labels.h"
#include "api/reasons.h"
#include "base/random.h"
#include "base/rfc3339.h"

namespace berth::provisioning {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

api::ProvisioningPolicy Morning() {
  api::ProvisioningPolicy policy{.meta = {.name = "thrifty"}};
  policy.steps = {{.name = "t4", .flavor = "t4"}};
  policy.steps[0].pool = {.name = "t4-pool", .max_nodes = 4, .node = {{"nvidia.com/gpu", 1}}};
  policy.prewarm.emplace();
  policy.prewarm->namespace_name = "default";
  policy.prewarm->local_queue = "warm";
  policy.prewarm->schedule = "0 8 * * *";
  policy.prewarm->duration_seconds = 36000;
  return policy;
}

WallTime At(const char* text) { return *ParseTime(text); }

struct WindowRow {
  std::string name;
  const char* now;
  bool open;
  const char* change;
};
void PrintTo(const WindowRow& row, std::ostream* out) { *out << row.name; }

class PrewarmWindowTest : public ::testing::TestWithParam<WindowRow> {};

TEST_P(PrewarmWindowTest, OpensAtTheScheduleMinusTheLead) {
  const WindowRow& row = GetParam();
  const PrewarmWindow window = WindowAt(*Morning().prewarm, TimeZone(), At(row.now));
  EXPECT_EQ(window.open, row.open);
  ASSERT_TRUE(window.change);
  EXPECT_EQ(FormatTime(*window.change), row.change);
}

INSTANTIATE_TEST_SUITE_P(Table, PrewarmWindowTest,
                         ::testing::ValuesIn(std::vector<WindowRow>{
                             {"Night", "2026-01-01T00:00:00Z", false, "2026-01-01T07:50:00Z"},
                             {"Lead", "2026-01-01T07:50:00Z", true, "2026-01-01T18:00:00Z"},
                             {"Noon", "2026-01-01T12:00:00Z", true, "2026-01-01T18:00:00Z"},
                             {"LastSecond", "2026-01-01T17:59:59Z", true, "2026-01-01T18:00:00Z"},
                             {"Evening", "2026-01-01T18:00:00Z", false, "2026-01-02T07:50:00Z"},
                         }),
                         [](const auto& row) { return row.param.name; });

TEST(PrewarmTest, LeadOfTheNextWindowEndsTheOpenOne) {
  api::ProvisioningPrewarm rule = *Morning().prewarm;
  rule.duration_seconds = 86400;
  const PrewarmWindow noon = WindowAt(rule, TimeZone(), At("2026-01-01T12:00:00Z"));
  EXPECT_TRUE(noon.open);
  EXPECT_EQ(noon.change, At("2026-01-02T07:50:00Z"));
  const PrewarmWindow lead = WindowAt(rule, TimeZone(), At("2026-01-02T07:50:00Z"));
  EXPECT_EQ(lead.begin, At("2026-01-02T07:50:00Z"));
  EXPECT_EQ(lead.change, At("2026-01-03T07:50:00Z"));
}

TEST(PrewarmTest, AScheduleThatCannotBeReadOpensNoWindow) {
  api::ProvisioningPrewarm rule = *Morning().prewarm;
  rule.schedule = "0 25 * * *";
  EXPECT_FALSE(WindowAt(rule, TimeZone(), At("2026-01-01T08:00:00Z")).open);
  rule.schedule = "";
  EXPECT_TRUE(WindowAt(rule, TimeZone(), At("2026-01-01T08:00:00Z")).open);
}

// kube-apiserver asks this of the PodTemplate of its request.
TEST(PrewarmTest, PodsHaveAnImageAndLimitsOfDevices) {
  const FlavorsByName flavors{{"t4", {.meta = {.name = "t4"}}}};
  const auto workload = PrewarmWorkload(Morning(), flavors);
  ASSERT_TRUE(workload);
  const api::PodSet& nodes = workload->spec.pod_sets.front();
  EXPECT_FALSE(nodes.pod_template.spec.containers.front().image.empty());
  EXPECT_EQ(nodes.pod_template.spec.containers.front().limits.at("nvidia.com/gpu"), 1);
}

// The objects of one policy; a crash performs less than the whole decision.
struct PrewarmWorld {
  PrewarmDecision Round(WallTime now, std::size_t most = SIZE_MAX) {
    PrewarmSituation situation{.policy = policy ? &*policy : nullptr, .flavors = &flavors};
    for (const api::Workload& each : workloads) situation.workloads.push_back(&each);
    for (const api::Node& node : nodes) {
      if (!workloads.empty()) situation.brought.push_back(&node);
      if (node.meta.annotations.contains(api::kPrewarmLabel)) situation.kept.push_back(&node);
    }
    PrewarmDecision decision = DecidePrewarm(situation, now);
    const auto may = [&most] { return most > 0 && most-- > 0; };
    if (decision.idle && may()) {
      api::Workload& marked = workloads.front();
      marked.meta.annotations.erase(api::kIdleSinceAnnotation);
      if (decision.idle->since) {
        marked.meta.annotations[api::kIdleSinceAnnotation] = FormatTime(*decision.idle->since);
      }
      if (decision.idle->ends) marked.spec.active = false;
    }
    if (decision.create && may()) workloads.push_back(*decision.create);
    for (const std::string& name : decision.keep) {
      if (may()) Mark(name, true);
    }
    for (const std::string& name : decision.release) {
      if (may()) Mark(name, false);
    }
    if (!decision.remove.empty() && may()) workloads.clear();
    return decision;
  }
  void Mark(const std::string& name, bool keep) {
    for (api::Node& node : nodes) {
      if (node.meta.name != name) continue;
      node.meta.annotations.clear();
      if (!keep) continue;
      node.meta.annotations[api::kPrewarmLabel] = "thrifty";
      node.meta.annotations[api::kScaleDownDisabledAnnotation] = "true";
    }
  }
  std::size_t Kept() const {
    std::size_t kept = 0;
    for (const api::Node& node : nodes) {
      kept += node.meta.annotations.contains(api::kPrewarmLabel) ? 1U : 0U;
    }
    return kept;
  }

  std::optional<api::ProvisioningPolicy> policy = Morning();
  FlavorsByName flavors = MakeFlavors();
  std::vector<api::Workload> workloads;
  std::vector<api::Node> nodes;

  static FlavorsByName MakeFlavors() {
    FlavorsByName flavors;
    flavors["t4"].meta.name = "t4";
    flavors["t4"].node_labels = {{"pool", "t4"}};
    return flavors;
  }
};

TEST(PrewarmTest, TheWorkloadAsksForWholeNodesOfTheFlavorAtTheLowestPriority) {
  PrewarmWorld world;
  EXPECT_EQ(world.Round(At("2026-01-01T00:00:00Z")).create, std::nullopt);
  world.Round(At("2026-01-01T08:00:00Z"));
  ASSERT_EQ(world.workloads.size(), 1U);
  const api::Workload& workload = world.workloads[0];
  EXPECT_EQ(workload.meta.key().ToString(), "default/berth-prewarm-thrifty");
  EXPECT_EQ(workload.spec.queue_name, "warm");
  EXPECT_LT(*workload.spec.priority, -1'000'000'000);
  EXPECT_EQ(workload.spec.pod_sets.front().count, 1);
  const api::PodSpec& spec = workload.spec.pod_sets.front().pod_template.spec;
  EXPECT_EQ(spec.node_selector, (api::StringMap{{"pool", "t4"}}));
  EXPECT_EQ(api::PodRequests(spec), (api::ResourceAmounts{{"nvidia.com/gpu", 1}}));
}

TEST(PrewarmTest, NodesAreKeptInTheWindowAndReleasedAtItsEnd) {
  PrewarmWorld world;
  world.Round(At("2026-01-01T08:00:00Z"));
  world.nodes.emplace_back().meta.name = "n1";
  world.Round(At("2026-01-01T08:01:00Z"));
  EXPECT_EQ(world.Kept(), 1U);
  EXPECT_THAT(world.Round(At("2026-01-01T08:02:00Z")).keep, IsEmpty()) << "at rest";
  const PrewarmDecision end = world.Round(At("2026-01-01T18:00:00Z"));
  EXPECT_THAT(end.release, ElementsAre("n1"));
  EXPECT_EQ(world.Kept(), 0U);
  EXPECT_THAT(world.workloads, IsEmpty());
}

TEST(PrewarmTest, AdministratorsAnnotationIsLeftAlone) {
  PrewarmWorld world;
  world.Round(At("2026-01-01T08:00:00Z"));
  world.nodes.emplace_back().meta.name = "n1";
  world.nodes[0].meta.annotations[api::kScaleDownDisabledAnnotation] = "true";
  EXPECT_THAT(world.Round(At("2026-01-01T08:01:00Z")).keep, IsEmpty());
}

TEST(PrewarmTest, EditOfTheSizeRecreatesTheWorkload) {
  PrewarmWorld world;
  world.Round(At("2026-01-01T08:00:00Z"));
  world.policy->prewarm->min_nodes = 2;
  world.Round(At("2026-01-01T08:01:00Z"));
  EXPECT_THAT(world.workloads, IsEmpty());
  world.Round(At("2026-01-01T08:01:01Z"));
  ASSERT_EQ(world.workloads.size(), 1U);
  EXPECT_EQ(world.workloads[0].spec.pod_sets.front().count, 2);
}

TEST(PrewarmTest, EvictedWorkloadIsRecreatedAfterARest) {
  PrewarmWorld world;
  world.Round(At("2026-01-01T08:00:00Z"));
  api::SetCondition(world.workloads[0].status.conditions,
                    {.type = api::kEvicted,
                     .status = api::ConditionStatus::kTrue,
                     .last_transition_time = At("2026-01-01T08:10:00Z")});
  const PrewarmDecision waits = world.Round(At("2026-01-01T08:11:00Z"));
  EXPECT_THAT(world.workloads, ::testing::SizeIs(1));
  EXPECT_EQ(waits.next_wake, Duration(std::chrono::minutes(4)));
  world.Round(At("2026-01-01T08:15:00Z"));
  EXPECT_THAT(world.workloads, IsEmpty());
  world.Round(At("2026-01-01T08:15:01Z"));
  EXPECT_THAT(world.workloads, ::testing::SizeIs(1));
}

// Eight o'clock, with a node since 8:01 and a limit of half an hour.
PrewarmWorld IdleWorld() {
  PrewarmWorld world;
  world.policy->prewarm->max_idle_seconds = 1800;
  world.Round(At("2026-01-01T08:00:00Z"));
  world.nodes.emplace_back().meta.name = "n1";
  EXPECT_EQ(world.Round(At("2026-01-01T08:01:00Z")).next_wake, Duration(std::chrono::minutes(30)));
  return world;
}

void PutLease(api::Node& node, const char* until) {
  node.meta.labels[api::kLeaseLabel] = "0123456789abcdef";
  node.meta.annotations[api::kLeaseUntilAnnotation] = until;
}

TEST(PrewarmTest, IdleNodesAreReleasedUntilTheNextWindow) {
  PrewarmWorld world = IdleWorld();
  EXPECT_EQ(world.Round(At("2026-01-01T08:30:59Z")).idle, std::nullopt) << "at rest";
  EXPECT_EQ(world.Kept(), 1U);
  const PrewarmDecision end = world.Round(At("2026-01-01T08:31:00Z"));
  ASSERT_TRUE(end.idle);
  EXPECT_TRUE(end.idle->ends);
  world.Round(At("2026-01-01T08:31:01Z"));
  EXPECT_EQ(world.Kept(), 0U);
  ASSERT_EQ(world.workloads.size(), 1U) << "the mark that they are not asked for again";
  // It was evicted when it was deactivated; the rest after that brings nothing back.
  api::SetCondition(world.workloads[0].status.conditions,
                    {.type = api::kEvicted,
                     .status = api::ConditionStatus::kTrue,
                     .last_transition_time = At("2026-01-01T08:31:01Z")});
  world.Round(At("2026-01-01T17:59:59Z"));
  EXPECT_FALSE(world.workloads.at(0).spec.active);
  world.Round(At("2026-01-01T18:00:00Z"));
  EXPECT_THAT(world.workloads, IsEmpty());
  world.Round(At("2026-01-02T07:50:00Z"));
  EXPECT_TRUE(world.workloads.at(0).spec.active);
}

TEST(PrewarmTest, LeaseOnOneNodeKeepsAllNodes) {
  PrewarmWorld world = IdleWorld();
  world.nodes.emplace_back().meta.name = "n2";
  world.Round(At("2026-01-01T08:20:00Z"));
  PutLease(world.nodes[1], "2026-01-01T08:50:00Z");
  const PrewarmDecision used = world.Round(At("2026-01-01T08:30:00Z"));
  ASSERT_TRUE(used.idle);
  EXPECT_EQ(used.idle->since, std::nullopt);
  EXPECT_EQ(world.Round(At("2026-01-01T08:40:00Z")).next_wake, Duration(std::chrono::minutes(10)));
  world.Round(At("2026-01-01T08:50:00Z"));  // the lease was not renewed
  EXPECT_FALSE(world.Round(At("2026-01-01T09:19:59Z")).idle);
  EXPECT_TRUE(world.Round(At("2026-01-01T09:20:00Z")).idle->ends);
}

TEST(PrewarmTest, IdleMarkEndsWithItsWindowOrItsLimit) {
  PrewarmWorld world = IdleWorld();
  world.Round(At("2026-01-01T08:31:00Z"));
  ASSERT_FALSE(world.workloads.at(0).spec.active);
  PrewarmWorld edited = world;
  // Nobody looked in the night.
  world.Round(At("2026-01-02T07:50:00Z"));
  EXPECT_THAT(world.workloads, IsEmpty());
  world.Round(At("2026-01-02T07:50:01Z"));
  EXPECT_TRUE(world.workloads.at(0).spec.active);
  edited.policy->prewarm->max_idle_seconds = 0;
  edited.Round(At("2026-01-01T09:00:00Z"));
  edited.Round(At("2026-01-01T09:00:01Z"));
  EXPECT_TRUE(edited.workloads.at(0).spec.active);
}

// After any crash the marks go with the window or with the policy.
TEST(PrewarmTest, NoKeptNodeOutlivesTheWindowDespiteCrashes) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    PrewarmWorld world;
    if (seed % 2 == 0) world.policy->prewarm->max_idle_seconds = 5400;
    WallTime now = At("2026-01-01T00:00:00Z");
    for (int step = 0; step < 40; ++step) {
      now += std::chrono::minutes(random.Below(180));
      if (!world.workloads.empty() && world.nodes.size() < 3 && random.Below(2) == 0) {
        world.nodes.emplace_back().meta.name = "n" + std::to_string(step);
      }
      world.Round(now, random.Below(3));
      EXPECT_TRUE(!world.workloads.empty() || world.Kept() == 0U);
    }
    if (random.Below(2) == 0) {
      world.policy.reset();
    } else {
      now = At("2026-01-12T20:00:00Z");
    }
    for (int round = 0; round < 10; ++round) world.Round(now, 1);
    EXPECT_EQ(world.Kept(), 0U);
    EXPECT_THAT(world.workloads, IsEmpty());
  }
}

}  // namespace
}  // namespace berth::provisioning

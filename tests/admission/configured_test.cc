// Goal: settings of Kueue's configuration change decisions: one admission at a time until pods are
// ready, resources that a queue does not declare, recent usage of LocalQueues.
// Method: the same small world with and without the setting.

#include <gtest/gtest.h>

#include "api/provisioning_labels.h"
#include "api/reasons.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using support::MakeJob;
using support::MakeLocalQueue;
using support::MakeQueue;
using support::TableWorld;
using namespace std::chrono_literals;

void SetPodsReady(TableWorld& world, const std::string& name) {
  api::Workload workload = *world.Find(support::KeyOf(name));
  api::SetCondition(workload.status.conditions, {.type = api::kPodsReady,
                                                 .status = api::ConditionStatus::kTrue,
                                                 .reason = "Started",
                                                 .last_transition_time = world.now()});
  world.Apply(workload);
}

TEST(BlockAdmission, OneWorkloadAtATimeStartsInAllQueues) {
  SchedulerConfig config;
  config.block_admission = true;
  TableWorld world(
      {"f"}, {MakeQueue("a", "", {{"f", {{"gpu", 4}}}}), MakeQueue("b", "", {{"f", {{"gpu", 4}}}})},
      config);
  world.Apply(MakeJob("x", "a", 1, {{"gpu", 1}}));
  world.Apply(MakeJob("y", "b", 1, {{"gpu", 1}}));
  EXPECT_EQ(world.Cycle(), "x Admitted, y Skipped");
  EXPECT_EQ(world.MessageOf("y"),
            "waiting for all admitted workloads to be in PodsReady condition");
  EXPECT_EQ(PendingReason(world.Of("y")), api::kWaitingForPodsReady);
  EXPECT_EQ(world.Cycle(), "y Skipped") << "it competes again without being woken";
  SetPodsReady(world, "x");
  EXPECT_EQ(world.Cycle(), "y Admitted");
}

TEST(BlockAdmission, FinishedWorkloadBlocksNoAdmission) {
  SchedulerConfig config;
  config.block_admission = true;
  TableWorld world({"f"}, {MakeQueue("a", "", {{"f", {{"gpu", 4}}}})}, config);
  world.Apply(MakeJob("x", "a", 1, {{"gpu", 1}}));
  world.Apply(MakeJob("y", "a", 1, {{"gpu", 1}}));
  EXPECT_EQ(world.Cycle(), "x Admitted");
  EXPECT_EQ(world.Cycle(), "y Skipped");
  world.Finish(support::KeyOf("x"));
  EXPECT_EQ(world.Cycle(), "y Admitted");
}

TEST(BlockAdmission, StandingNodesBlockNoAdmission) {
  SchedulerConfig config;
  config.block_admission = true;
  TableWorld world({"f"}, {MakeQueue("a", "", {{"f", {{"gpu", 4}}}})}, config);
  api::Workload standing = MakeJob("x", "a", 1, {{"gpu", 1}});
  standing.meta.labels[api::kPrewarmLabel] = "office-hours";
  world.Apply(standing);
  EXPECT_EQ(world.Cycle(), "x Admitted");
  world.Apply(MakeJob("y", "a", 1, {{"gpu", 1}}));
  EXPECT_EQ(world.Cycle(), "y Admitted");
}

TEST(BlockAdmission, DoesNotStopPreemption) {
  SchedulerConfig config;
  config.block_admission = true;
  api::ClusterQueue a = MakeQueue("a", "", {{"f", {{"gpu", 1}}}});
  a.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
  TableWorld world({"f"}, {a}, config);
  world.Apply(MakeJob("low", "a", 1, {{"gpu", 1}}, 0));
  EXPECT_EQ(world.Cycle(), "low Admitted");
  world.Apply(MakeJob("high", "a", 1, {{"gpu", 1}}, 5));
  EXPECT_EQ(world.Cycle(), "high Preempting");
  world.ReleaseEvicted();
  EXPECT_EQ(world.Cycle(), "high Admitted");
}

TEST(QuotaCheck, IgnoresUndeclaredResourcesIfConfigured) {
  for (const bool ignore : {false, true}) {
    SchedulerConfig config;
    config.ignore_undeclared_resources = ignore;
    TableWorld world({"f"}, {MakeQueue("a", "", {{"f", {{"gpu", 4}}}})}, config);
    world.Apply(MakeJob("w", "a", 1, {{"gpu", 1}, {"example.com/rack", 1}}));
    EXPECT_EQ(world.Cycle(), ignore ? "w Admitted" : "w NoFit");
    if (ignore) {
      EXPECT_EQ(world.Of("w").assignment.usage.size(), 1U) << "nothing is charged for it";
    }
  }
}

// Queue "a" with `gpus`.
api::ClusterQueue SharedQueue(api::Amount gpus, bool by_usage) {
  api::ClusterQueue a = MakeQueue("a", "", {{"f", {{"gpu", gpus}}}});
  a.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
  a.spec.usage_based_admission_fair_sharing = by_usage;
  return a;
}

SchedulerConfig Sharing() {
  SchedulerConfig config;
  config.admission_fair_sharing = AdmissionFairSharing{.half_life = 10min};
  return config;
}

TEST(AdmissionFairSharing, LocalQueuesTakeTurnsByUsage) {
  for (const bool by_usage : {false, true}) {
    TableWorld world({"f"}, {SharedQueue(9, by_usage)}, Sharing());
    world.Apply(MakeLocalQueue("b", "a"));
    for (const char* name : {"m1", "m2", "m3"}) {
      world.Apply(MakeJob(name, "a", 1, {{"gpu", 1}}));
      world.Advance(1s);
    }
    for (const char* name : {"f1", "f2"}) {
      world.Apply(MakeJob(name, "b", 1, {{"gpu", 1}}));
      world.Advance(1s);
    }
    EXPECT_EQ(world.AdmitAll(), by_usage ? "m1, f1, m2, f2, m3" : "m1, m2, m3, f1, f2");
  }
}

TEST(AdmissionFairSharing, VictimsComeFromTheLocalQueueThatUsedMost) {
  for (const bool by_usage : {false, true}) {
    TableWorld world({"f"}, {SharedQueue(3, by_usage)}, Sharing());
    world.Apply(MakeLocalQueue("b", "a"));
    world.Apply(MakeJob("heavy", "a", 1, {{"gpu", 2}}, 1));
    world.Apply(MakeJob("light", "b", 1, {{"gpu", 1}}, 0));
    world.AdmitAll();
    world.Apply(MakeJob("p", "b", 1, {{"gpu", 1}}, 5));
    EXPECT_EQ(world.Cycle(), "p Preempting");
    EXPECT_EQ(world.VictimsOf("p"), by_usage ? "heavy(InClusterQueue)" : "light(InClusterQueue)");
  }
}

}  // namespace
}  // namespace berth::admission

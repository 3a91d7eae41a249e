// Goal: the pod counts of partial admission (KEP-420). Method: the search alone with a limit on the
// total, then whole cycles; counts by hand: pod set i has count - slack × cut ÷ total slack.
#include "admission/flavors/partial_admission.h"

#include <gtest/gtest.h>

#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;

TEST(PartialAdmissionTest, SearchFindsTheLargestCountsThatFit) {
  struct PodSet {
    std::int32_t count;
    std::optional<std::int32_t> min;
  };
  struct Row {
    const char* name;
    std::vector<PodSet> pod_sets;
    std::int32_t most;  // total of pods that fit
    std::vector<std::int32_t> counts;
  };
  const Row rows[] = {
      {"as many as fit", {{10, 2}}, 7, {7}},
      {"the least that will do", {{10, 2}}, 2, {2}},
      {"less would not do", {{10, 2}}, 1, {}},
      {"no minCount, nothing to reduce", {{10, {}}}, 9, {}},
      {"minCount equals count", {{10, 10}}, 9, {}},
      {"only the one with minCount shrinks", {{4, {}}, {6, 1}}, 7, {4, 3}},
      {"in proportion: slack 4 and 2, cut 3 of 6 takes 2 and 1", {{8, 4}, {4, 2}}, 9, {6, 3}},
      {"shares round down: cut 1 of 4 takes 0 of 1 and 0 of 3, cut 2 takes 0 and 1",
       {{5, 4}, {5, 2}},
       9,
       {5, 4}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    api::Workload workload;
    for (const PodSet& pod_set : row.pod_sets) {
      workload.spec.pod_sets.push_back(support::MakePodSet("p", pod_set.count, {}));
      workload.spec.pod_sets.back().min_count = pod_set.min;
    }
    std::vector<std::int32_t> accepted;
    const bool found = LargestReducedCounts(workload, [&](const std::vector<std::int32_t>& counts) {
      std::int32_t sum = 0;
      for (const std::int32_t count : counts) sum += count;
      if (sum > row.most) return false;
      accepted = counts;
      return true;
    });
    EXPECT_EQ(found, !row.counts.empty());
    EXPECT_EQ(accepted, row.counts);
  }
}

api::Workload Shrinkable(const std::string& name, std::int32_t count, std::int32_t min,
                         std::int32_t priority = 0) {
  api::Workload job = MakeJob(name, "a", count, {{"gpu", 1}}, priority);
  job.spec.pod_sets[0].min_count = min;
  return job;
}

TEST(PartialAdmissionTest, AdmitsAWorkloadWithFewerPods) {
  TableWorld world({"f"}, {MakeQueue("a", "", {{"f", {{"gpu", 5}}}})});
  world.Apply(Shrinkable("w", 8, 3));
  EXPECT_EQ(world.Cycle(), "w Admitted");
  const auto& assigned = world.Find(support::KeyOf("w"))->status.admission->pod_set_assignments[0];
  EXPECT_EQ(assigned.count, 5);
  EXPECT_EQ(assigned.resource_usage.at("gpu"), 5);
  world.Apply(Shrinkable("v", 8, 6));
  EXPECT_EQ(world.Cycle(), "v NoFit");
}

// Kueue's ScaledTo ignores a pod set without pods to count: only the other one shrinks.
TEST(PartialAdmissionTest, ReclaimablePodsAreNotAdmittedAgain) {
  TableWorld world({"f"}, {MakeQueue("a", "", {{"f", {{"gpu", 4}}}})});
  api::Workload job = Shrinkable("w", 8, 3);
  job.spec.pod_sets.push_back(support::MakePodSet("done", 2, {{"gpu", 1}}));
  job.status.reclaimable_pods = {{"done", 2}};
  world.Apply(job);
  EXPECT_EQ(world.Cycle(), "w Admitted");
  const auto& assigned = world.Find(support::KeyOf("w"))->status.admission->pod_set_assignments;
  EXPECT_EQ(assigned[0].count, 4);
  EXPECT_EQ(assigned[1].count, 0);
}

TEST(PartialAdmissionTest, DisabledGateSwitchesPartialAdmissionOff) {
  SchedulerConfig config;
  config.gates.partial_admission = false;
  TableWorld world({"f"}, {MakeQueue("a", "", {{"f", {{"gpu", 5}}}})}, config);
  world.Apply(Shrinkable("w", 8, 3));
  EXPECT_EQ(world.Cycle(), "w NoFit");
}

TEST(PartialAdmissionTest, PreemptionForAllPodsComesBeforeFewerPods) {
  api::ClusterQueue a = MakeQueue("a", "", {{"f", {{"gpu", 5}}}});
  a.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
  TableWorld world({"f"}, {a});
  world.Apply(MakeJob("low", "a", 1, {{"gpu", 2}}, 0));
  ASSERT_EQ(world.AdmitAll(), "low");
  world.Apply(Shrinkable("w", 5, 3, 9));
  EXPECT_EQ(world.Cycle(), "w Preempting") << "3 would fit, but all 5 can be had";
  EXPECT_EQ(world.VictimsOf("w"), "low(InClusterQueue)");
}

TEST(PartialAdmissionTest, PreemptsForFewerPodsThanRequested) {
  api::ClusterQueue a = MakeQueue("a", "", {{"f", {{"gpu", 5}}}});
  a.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
  TableWorld world({"f"}, {a});
  world.Apply(MakeJob("high", "a", 1, {{"gpu", 1}}, 10));
  world.Apply(MakeJob("low", "a", 1, {{"gpu", 3}}, 0));
  ASSERT_EQ(world.AdmitAll(), "high, low");
  world.Apply(Shrinkable("w", 5, 2, 9));
  EXPECT_EQ(world.Cycle(), "w Preempting");
  EXPECT_EQ(world.VictimsOf("w"), "low(InClusterQueue)");
  EXPECT_EQ(world.Of("w").assignment.pod_sets[0].count, 4);
  world.ReleaseEvicted();
  EXPECT_EQ(world.Cycle(), "w Admitted");
  EXPECT_EQ(world.Find(support::KeyOf("w"))->status.admission->pod_set_assignments[0].count, 4);
}

}  // namespace
}  // namespace berth::admission

// Goal: slices of elastic jobs (KEP-77). Method: tables of whole cycles, with charges by hand; and
// random chains of slices beside other jobs, with a sum of the charges that is made from the
// objects.
#include "admission/workloads/workload_slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "api/labels.h"
#include "api/reasons.h"
#include "tests/support/core_fixture.h"
#include "tests/support/property.h"

namespace berth::admission {
namespace {

using support::KeyOf;
using support::MakeFlavor;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;
using ::testing::HasSubstr;

api::Workload Slice(const std::string& name, std::int32_t count, const std::string& replaced = "",
                    const std::string& owner = "job-1") {
  api::Workload slice = MakeJob(name, "a", count, {{"gpu", 1}});
  slice.meta.owner_references = {{.kind = "Job", .name = owner, .uid = owner, .controller = true}};
  slice.meta.labels[api::kJobUidLabel] = owner;
  slice.meta.annotations[api::kElasticJobAnnotation] = "true";
  if (!replaced.empty()) {
    slice.meta.annotations[api::kSliceReplacementForAnnotation] = "default/" + replaced;
  }
  return slice;
}

api::ClusterQueue Queue(api::Amount quota) { return MakeQueue("a", "", {{"f", {{"gpu", quota}}}}); }

api::Amount UsedIn(const TableWorld& world, const std::string& queue = "a",
                   const std::string& flavor = "f") {
  const ClusterState& state = world.scheduler().state();
  const QueueState& known = state.queue(*state.cluster_queues().Find(queue));
  const Vocabulary& names = world.scheduler().state().vocabulary();
  for (const CompiledGroup& group : known.groups) {
    for (std::size_t i = 0; i < group.flavors.size(); ++i) {
      if (names.flavors[group.flavors[i]] != flavor) continue;
      return state.tree().AmountsOf(known.node, group.Find(i, group.resources.front())).usage;
    }
  }
  return -1;
}

class SlicesTest : public ::testing::Test {
 protected:
  TableWorld world_{{"f", "g"}, {Queue(5)}};
};

TEST_F(SlicesTest, NextSliceIsChargedTheDifference) {
  world_.Apply(Slice("old", 3));
  EXPECT_EQ(world_.Cycle(), "old Admitted");
  world_.Apply(Slice("new", 5, "old"));
  EXPECT_EQ(world_.Cycle(), "new Admitted");
  ASSERT_NE(world_.Of("new").replaces, nullptr);
  EXPECT_EQ(world_.Of("new").replaces->meta.name, "old");
  EXPECT_EQ(world_.Of("new").victims.size(), 0U);
  EXPECT_EQ(
      world_.Find(KeyOf("new"))->status.admission->pod_set_assignments[0].resource_usage.at("gpu"),
      5);
  // Both hold quota until the old one is finished; the pods are charged once.
  EXPECT_EQ(UsedIn(world_), 5);
  world_.Finish(KeyOf("old"));
  EXPECT_EQ(UsedIn(world_), 5);
  EXPECT_EQ(SliceReplacedMessage(*world_.Find(KeyOf("new"))),
            "Replaced to accommodate a workload (UID: new, JobUID: job-1) due to workload slice "
            "aggregation");
}

TEST_F(SlicesTest, ADifferenceThatDoesNotFitWaitsAndTheOldSliceStays) {
  world_.Apply(Slice("old", 3));
  world_.Cycle();
  world_.Apply(Slice("new", 6, "old"));
  EXPECT_EQ(world_.Cycle(), "new NoCandidates");
  EXPECT_THAT(world_.MessageOf("new"),
              HasSubstr("insufficient unused quota for gpu in flavor f, 1 more needed"));
  EXPECT_EQ(UsedIn(world_), 3);
  // The old slice is scaled down: the next one, smaller too, fits.
  api::Workload old = *world_.Find(KeyOf("old"));
  old.spec.pod_sets[0].count = 2;
  world_.Apply(old);
  EXPECT_EQ(UsedIn(world_), 2);
}

// Kueue does the same: a queue that uses more than its quota has 0 available, and 0 more is asked
// for.
TEST_F(SlicesTest, SliceOfEqualSizeReplacesOneInAQueueWithoutQuota) {
  world_.Apply(Slice("old", 3));
  world_.Cycle();
  world_.Apply(Queue(0));
  world_.Apply(Slice("larger", 4, "old"));
  EXPECT_EQ(world_.Cycle(), "larger NoFit");
  world_.DeleteWorkload(KeyOf("larger"));
  world_.Apply(Slice("new", 3, "old"));
  EXPECT_EQ(world_.Cycle(), "new Admitted");
  EXPECT_EQ(UsedIn(world_), 3);
}

TEST_F(SlicesTest, ScaleDownWakesWaitingWorkloads) {
  world_.Apply(Slice("old", 5));
  world_.Cycle();
  world_.Apply(MakeJob("other", "a", 2, {{"gpu", 1}}));
  EXPECT_EQ(world_.Cycle(), "other NoCandidates");
  api::Workload old = *world_.Find(KeyOf("old"));
  old.spec.pod_sets[0].count = 3;
  ++old.meta.generation;
  world_.Apply(old);
  EXPECT_EQ(world_.WakeUp(), 1);
  EXPECT_EQ(world_.Cycle(), "other Admitted");
  EXPECT_EQ(UsedIn(world_), 5);
}

TEST_F(SlicesTest, NextSliceKeepsTheFlavor) {
  api::ClusterQueue queue = MakeQueue("a", "", {{"f", {{"gpu", 3}}}, {"g", {{"gpu", 9}}}});
  TableWorld world({"f", "g"}, {queue});
  world.Apply(Slice("old", 3));
  EXPECT_EQ(world.Cycle(), "old Admitted");
  EXPECT_EQ(world.FlavorFor("old", "gpu"), "f");
  world.Apply(Slice("new", 4, "old"));
  EXPECT_EQ(world.Cycle(), "new NoCandidates");
  EXPECT_THAT(world.MessageOf("new"),
              HasSubstr("could not assign g flavor since the original workload is assigned: f"));
  EXPECT_THAT(world.MessageOf("new"), HasSubstr("1 more needed"));
}

struct Refused {
  const char* name;
  const char* replaced;
  const char* owner;
};

// A replaced slice is one of the same job, in the same queue, with quota.
TEST(SlicesOfOthersTest, AreNotReplacedByUnrelatedSlices) {
  const Refused rows[] = {
      {"of another job", "old", "job-2"},
      {"unknown", "gone", "job-1"},
      {"itself", "new", "job-1"},
  };
  for (const Refused& row : rows) {
    SCOPED_TRACE(row.name);
    TableWorld world({"f"}, {Queue(5)});
    world.Apply(Slice("old", 3));
    world.Cycle();
    world.Apply(Slice("new", 4, row.replaced, row.owner));
    EXPECT_EQ(world.Cycle(), "new NoCandidates");
    EXPECT_EQ(world.Of("new").replaces, nullptr);
    EXPECT_EQ(UsedIn(world), 3);
  }
}

TEST(SlicesOfOthersTest, OfAnotherNamespaceAreIgnored) {
  api::Workload slice = Slice("new", 4);
  slice.meta.annotations[api::kSliceReplacementForAnnotation] = "elsewhere/old";
  EXPECT_EQ(ReplacedSliceOf(slice), std::nullopt);
  slice.meta.annotations[api::kSliceReplacementForAnnotation] = "no key";
  EXPECT_EQ(ReplacedSliceOf(slice), std::nullopt);
}

TEST_F(SlicesTest, WithTheGateOffSliceReplacesNothing) {
  SchedulerConfig config;
  config.gates.elastic_jobs = false;
  TableWorld world({"f"}, {Queue(5)}, config);
  world.Apply(Slice("old", 3));
  world.Cycle();
  world.Apply(Slice("new", 4, "old"));
  EXPECT_EQ(world.Cycle(), "new NoCandidates");
}

TEST_F(SlicesTest, NextSlicePreemptsOtherWorkloadsAndNotItsOldSlice) {
  api::ClusterQueue queue = Queue(5);
  queue.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
  TableWorld world({"f"}, {queue});
  api::Workload old = Slice("old", 3);
  old.spec.priority = 1;
  world.Apply(old);
  world.Apply(MakeJob("low", "a", 2, {{"gpu", 1}}, 0));
  EXPECT_EQ(world.AdmitAll(), "old, low");
  api::Workload next = Slice("new", 4, "old");
  next.spec.priority = 9;  // the old slice has a lower priority, and is no victim
  world.Apply(next);
  EXPECT_EQ(world.Cycle(), "new Preempting");
  EXPECT_EQ(world.VictimsOf("new"), "low(InClusterQueue)");
  world.ReleaseEvicted();
  world.WakeUp();
  EXPECT_THAT(world.Cycle(), HasSubstr("new Admitted"));
  EXPECT_EQ(UsedIn(world), 4);
}

TEST_F(SlicesTest, AnOldSliceThatIsPreemptedInTheSameCycleIsNotReplaced) {
  api::ClusterQueue queue = Queue(6);
  queue.spec.cohort_name = "org";
  queue.spec.preemption.reclaim_within_cohort = api::PreemptionPolicy::kAny;
  api::ClusterQueue owner = MakeQueue("b", "org", {{"f", {{"gpu", 4}}}});
  owner.spec.preemption.reclaim_within_cohort = api::PreemptionPolicy::kAny;
  TableWorld world({"f"}, {queue, owner});
  world.Apply(Slice("old", 9));
  EXPECT_EQ(world.Cycle(), "old Admitted");
  world.Apply(Slice("new", 10, "old"));
  world.Apply(MakeJob("claim", "b", 4, {{"gpu", 1}}, 100));
  world.Cycle();
  EXPECT_EQ(world.VictimsOf("claim"), "old(InCohortReclamation)");
  EXPECT_NE(world.Of("new").outcome, Outcome::kAdmitted);
  world.ReleaseEvicted();
  world.WakeUp();
  EXPECT_THAT(world.Cycle(), HasSubstr("claim Admitted"));
  EXPECT_EQ(UsedIn(world, "b"), 4);
}

TEST_F(SlicesTest, UnwrittenAdmissionRestoresTheOldSlicesCharge) {
  world_.Apply(Slice("old", 3));
  world_.Cycle();
  world_.Apply(Slice("new", 5, "old"));
  world_.Advance(std::chrono::seconds(1));
  const CycleResult decided = world_.Decide();
  ASSERT_EQ(decided.decisions.size(), 1U);
  EXPECT_EQ(UsedIn(world_), 5);
  world_.scheduler().Unassume(KeyOf("new"), world_.now());
  EXPECT_EQ(UsedIn(world_), 3);
}

TEST_F(SlicesTest, RestartChargesSlicesEquallyInAnyOrder) {
  world_.Apply(Slice("b-old", 3));
  world_.Cycle();
  world_.Apply(Slice("c-new", 5, "b-old"));
  world_.Cycle();
  for (const bool reversed : {false, true}) {
    Scheduler scheduler{SchedulerConfig{}};
    api::ResourceFlavor flavor = MakeFlavor("f");
    scheduler.Apply(flavor);
    scheduler.Apply(Queue(5));
    std::vector<std::string> names = {"b-old", "c-new"};
    if (reversed) std::swap(names[0], names[1]);
    for (const std::string& name : names) {
      scheduler.ApplyWorkload(std::make_shared<const api::Workload>(*world_.Find(KeyOf(name))),
                              world_.now());
    }
    const QueueState& queue =
        scheduler.state().queue(*scheduler.state().cluster_queues().Find("a"));
    EXPECT_EQ(scheduler.state()
                  .tree()
                  .AmountsOf(queue.node, queue.groups[0].Find(0, queue.groups[0].resources.front()))
                  .usage,
              5);
  }
}

TEST_F(SlicesTest, EachPodSetIsChargedItsDifference) {
  const auto of_two = [](const std::string& name, std::int32_t a, std::int32_t b,
                         const std::string& replaced) {
    api::Workload slice = Slice(name, a, replaced);
    slice.spec.pod_sets.push_back(support::MakePodSet("second", b, {{"gpu", 1}}));
    return slice;
  };
  world_.Apply(of_two("old", 3, 1, ""));
  EXPECT_EQ(world_.Cycle(), "old Admitted");
  world_.Apply(of_two("new", 1, 4, "old"));  // -2 and +3
  EXPECT_EQ(world_.Cycle(), "new Admitted");
  EXPECT_EQ(UsedIn(world_), 5);
}

// What the queue is charged: each slice with quota that no other slice with quota replaces.
api::Amount ChargedByHand(const TableWorld& world) {
  api::Amount sum = 0;
  for (const auto& [key, workload] : world.workloads()) {
    const auto& conditions = workload.status.conditions;
    if (!api::IsTrue(conditions, api::kQuotaReserved) || api::IsTrue(conditions, api::kFinished)) {
      continue;
    }
    bool replaced = false;
    for (const auto& [other_key, other] : world.workloads()) {
      const std::string* named =
          api::FindValue(other.meta.annotations, api::kSliceReplacementForAnnotation);
      replaced = replaced || (named != nullptr && *named == key.ToString() &&
                              api::IsTrue(other.status.conditions, api::kQuotaReserved) &&
                              !api::IsTrue(other.status.conditions, api::kFinished));
    }
    if (!replaced) sum += workload.spec.pod_sets[0].count;
  }
  return sum;
}

void EndReplaced(TableWorld& world) {
  std::vector<api::ObjectKey> replaced;
  for (const auto& [key, workload] : world.workloads()) {
    const auto old = ReplacedSliceOf(workload);
    if (old && api::IsTrue(workload.status.conditions, api::kQuotaReserved)) {
      replaced.push_back(*old);
    }
  }
  for (const api::ObjectKey& key : replaced) world.Finish(key);
}

// Random growth, scale-downs, ends and evictions of two chains beside plain jobs.
TEST(SlicesProperty, EveryPodIsChargedOnceAndQuotaHolds) {
  support::CheckProperty(400, [] {
    api::ClusterQueue queue = Queue(10);
    queue.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
    TableWorld world({"f"}, {queue});
    std::string last[2] = {"", ""};
    int made = 0;
    const int steps = *support::Below(30) + 5;
    for (int step = 0; step < steps; ++step) {
      const int chain = *support::Below(2);
      const std::string owner = "job-" + std::to_string(chain);
      const api::Workload* head = last[chain].empty() ? nullptr : world.Find(KeyOf(last[chain]));
      const int step_kind = *support::Below(6);
      // The controllers finish a replaced slice at once: it lives as long as a size only grows.
      if (step_kind >= 2) EndReplaced(world);
      switch (step_kind) {
        case 0:
        case 1: {  // the next slice
          const std::string name = "s" + std::to_string(++made);
          api::Workload slice = head == nullptr
                                    ? Slice(name, *support::Below(7) + 1, "", owner)
                                    : Slice(name, head->spec.pod_sets[0].count + *support::Below(4),
                                            last[chain], owner);
          slice.spec.priority = *support::Below(3);
          world.Apply(slice);
          last[chain] = name;
          break;
        }
        case 2: {  // fewer pods
          if (head == nullptr || head->spec.pod_sets[0].count < 2) break;
          api::Workload smaller = *head;
          smaller.spec.pod_sets[0].count -= 1;
          ++smaller.meta.generation;
          world.Apply(smaller);
          break;
        }
        case 3: break;  // the slices that were replaced have ended
        case 4:
          world.Apply(MakeJob("j" + std::to_string(++made), "a", *support::Below(4) + 1,
                              {{"gpu", 1}}, *support::Below(3)));
          break;
        default: world.ReleaseEvicted();
      }
      world.WakeUp();
      world.Cycle();
      RC_ASSERT(UsedIn(world) == ChargedByHand(world));
      RC_ASSERT(UsedIn(world) <= 10);
    }
  });
}

}  // namespace
}  // namespace berth::admission

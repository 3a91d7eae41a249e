// Goal: the destination of a decided head, the workloads that park and wake, and the reasons that
// keep a workload out. Method: a QueueSet with one ClusterQueue and a few workloads; rows where
// there are many cases.
#include <gtest/gtest.h>

#include "api/condition.h"
#include "api/reasons.h"
#include "tests/queue/one_queue.h"

namespace berth::queue {
namespace {

using namespace std::chrono_literals;

// Kueue's table (kueue.md 3.7): reason by strategy.
class RequeueTable : public QueueSetTest {};

TEST_F(RequeueTable, ReasonAndStrategyDecideWhereAHeadIsRequeued) {
  constexpr auto kHeap = Destination::kActive;
  constexpr auto kParked = Destination::kInadmissible;
  struct Row {
    RequeueReason reason;
    Destination strict;
    Destination best_effort;
  };
  const Row rows[] = {
      {RequeueReason::kFailedAfterNomination, kHeap, kHeap},
      {RequeueReason::kPendingPreemption, kHeap, kHeap},
      {RequeueReason::kPreemptionFailed, kHeap, kHeap},
      {RequeueReason::kGeneric, kHeap, kParked},
      {RequeueReason::kNoFit, kHeap, kParked},
      {RequeueReason::kPreemptionNoCandidates, kHeap, kParked},
      {RequeueReason::kPreemptionGated, kHeap, kParked},
      {RequeueReason::kNamespaceMismatch, kParked, kParked},
  };
  for (const Row& row : rows) {
    for (const auto& [strategy, to] :
         {std::pair(kStrict, row.strict), std::pair(kBestEffort, row.best_effort)}) {
      SCOPED_TRACE(std::string(ToString(row.reason)) + (strategy == kStrict ? " strict" : ""));
      set = QueueSet(true);
      infos.clear();
      Open(strategy);
      Add(0);
      ASSERT_EQ(Pop(), 0);
      EXPECT_EQ(Requeue(0, row.reason), to);
      EXPECT_EQ(Active().size(), to == kHeap ? 1U : 0U);
      EXPECT_EQ(set.PlaceOf(0) == Destination::kInadmissible, to == kParked);
    }
  }
}

TEST_F(QueueSetTest, UntriedFlavorsKeepAHeadActive) {
  Open(kBestEffort);
  Add(0);
  Pop();
  EXPECT_EQ(Requeue(0, RequeueReason::kNoFit, QueueSet::Scan::kPendingFlavors),
            Destination::kActive);
}

TEST_F(QueueSetTest, WakeUpAfterThePopKeepsTheHeadActive) {
  Open(kBestEffort);
  Add(0);
  Pop();
  set.Wake(queue, kNow, nullptr);
  EXPECT_EQ(Requeue(0, RequeueReason::kNoFit), Destination::kActive);
  Pop();
  EXPECT_EQ(Requeue(0, RequeueReason::kNoFit), Destination::kInadmissible);
}

TEST_F(QueueSetTest, StrictHeadBlocksTheWorkloadsBehindIt) {
  Open(kStrict);
  Add(0, 5);
  Add(1, 1);
  for (int cycle = 0; cycle < 3; ++cycle) {
    ASSERT_EQ(Pop(), 0);
    Requeue(0, RequeueReason::kNoFit);
  }
  EXPECT_EQ(Active(), (Ids{0, 1}));
}

TEST_F(QueueSetTest, StrictHeadOfAMismatchedNamespaceDoesNotBlock) {
  Open(kStrict);
  Add(0, 5);
  Add(1, 1);
  ASSERT_EQ(Pop(), 0);
  Requeue(0, RequeueReason::kNamespaceMismatch);
  EXPECT_EQ(Pop(), 1);
}

TEST_F(QueueSetTest, StickyPreemptorStandsBeforeHigherPriorities) {
  Open(kBestEffort);
  Add(0, 5);
  ASSERT_EQ(Pop(), 0);
  Requeue(0, RequeueReason::kPendingPreemption);
  Add(1, 9);
  EXPECT_EQ(Active(), (Ids{0, 1})) << "though 1 has the higher priority";
  EXPECT_TRUE(set.preemptor(queue).Is(0));
  ASSERT_EQ(Pop(), 0);
  Requeue(0, RequeueReason::kNoFit);
  EXPECT_EQ(Active(), (Ids{1}));
  set.Wake(queue, kNow, nullptr);
  EXPECT_EQ(Active(), (Ids{0, 1})) << "it still waits for its preemptions";
  Change(0, [](api::Workload& w) { ++w.meta.generation; });
  EXPECT_FALSE(set.preemptor(queue).Is(0)) << "what was decided was another object";
}

TEST_F(QueueSetTest, StrictQueueHasNoStickyPreemptor) {
  Open(kStrict);
  Add(0, 5);
  ASSERT_EQ(Pop(), 0);
  Requeue(0, RequeueReason::kPendingPreemption);
  Add(1, 9);
  EXPECT_EQ(Active(), (Ids{1, 0}));
  EXPECT_TRUE(set.preemptor(queue).Is(0));
}

TEST_F(QueueSetTest, VerdictParksAllWorkloadsOfItsShape) {
  Open(kBestEffort);
  Add(0, 0, 7);
  Add(1, 0, 7);
  Add(2, 0, 8);
  ASSERT_EQ(Pop(), 0);
  const auto result = set.Requeue({0, queue}, RequeueReason::kNoFit, QueueSet::Scan::kDone, kNow);
  EXPECT_EQ(result.bulk_parked, (Ids{1}));
  EXPECT_EQ(Active(), (Ids{2}));
  Add(3, 0, 7);
  EXPECT_EQ(Inadmissible(), (Ids{0, 1, 3})) << "a newcomer of that shape is parked on arrival";
  std::vector<WorkloadId> woken;
  EXPECT_EQ(set.Wake(queue, kNow, &woken), 3);
  Add(4, 0, 7);
  EXPECT_EQ(Active(), (Ids{0, 1, 2, 3, 4})) << "the verdict is forgotten";
}

// Equal workloads of a lower priority stay parked, and others of their shape are parked on arrival.
TEST_F(QueueSetTest, WakeFromAPriorityLeavesTheOthersParked) {
  Open(kBestEffort);
  Add(0, 2, 7);
  Add(1, 1, 8);
  for (const WorkloadId id : {0, 1}) {
    ASSERT_EQ(Pop(), id);
    set.Requeue({id, queue}, RequeueReason::kNoFit, QueueSet::Scan::kDone, kNow);
  }
  EXPECT_EQ(set.Wake(queue, kNow, nullptr, 3), 0);
  EXPECT_EQ(set.Wake(queue, kNow, nullptr, 2), 1);
  Add(2, 2, 7);
  Add(3, 1, 8);
  EXPECT_EQ(Active(), (Ids{0, 2}));
  EXPECT_EQ(Inadmissible(), (Ids{1, 3}));
  EXPECT_EQ(set.Wake(queue, kNow, nullptr), 2);
  EXPECT_EQ(Active(), (Ids{0, 2, 1, 3}));
}

class NamesNew : public QueueSetTest {
 protected:
  NamesNew() {
    set = QueueSet(true, Listing::kNew);
    Open(kBestEffort);
  }
  // Names those that are parked with it.
  Ids Refuse(WorkloadId id, ClusterQueueId from) {
    return set.Requeue({id, from}, RequeueReason::kNoFit, QueueSet::Scan::kDone, kNow).bulk_parked;
  }
  Ids Refuse(WorkloadId id) { return Refuse(id, queue); }
};

TEST_F(NamesNew, WorkloadsParkedInBulkOnce) {
  for (const WorkloadId id : {0, 1, 2}) Add(id, 0, 7);
  ASSERT_EQ(Pop(), 0);
  EXPECT_EQ(Refuse(0), (Ids{1, 2}));
  set.Wake(queue, kNow, nullptr);
  Add(3, 0, 7);
  ASSERT_EQ(Pop(), 0);
  EXPECT_EQ(Refuse(0), (Ids{3})) << "the others have been named";
  set.Wake(queue, kNow, nullptr);
  const api::Workload changed = *infos[2].object;
  for (const std::uint64_t shape : {8U, 7U}) Put(2, changed, shape);
  set.Remove(1);
  infos[1] = {};
  Add(1, 0, 7);
  ASSERT_EQ(Pop(), 0);
  EXPECT_EQ(Refuse(0), (Ids{2, 1})) << "one has been another meanwhile, one is new";
}

TEST_F(NamesNew, NoWorkloadThatWasParkedBefore) {
  for (const WorkloadId id : {0, 1, 2}) Add(id, 0, 7);
  ASSERT_EQ(Pop(), 0);
  Requeue(0, RequeueReason::kGeneric);
  ASSERT_EQ(Pop(), 1);
  EXPECT_EQ(Refuse(1), (Ids{2}));
  set.Wake(queue, kNow, nullptr);
  Add(3, 9, 7);
  ASSERT_EQ(Pop(), 3);
  EXPECT_EQ(Refuse(3), (Ids{0})) << "now it waits for the same";
}

TEST_F(NamesNew, NewWorkloadsOfAGroupAfterManyRemovals) {
  Add(0, 0, 7);
  for (int round = 0; round < 1000; ++round) {
    Add(1, 0, 7);
    set.Remove(1);
    infos[1] = {};
  }
  Add(1, 0, 7);
  ASSERT_EQ(Pop(), 0);
  EXPECT_EQ(Refuse(0), (Ids{1}));
}

TEST_F(NamesNew, NoWorkloadWhoseNumberIsReusedInAnotherQueue) {
  const ClusterQueueId other = set.ClusterQueueNumber("other");
  set.SetClusterQueue(other, settings);
  set.SetLocalQueue({"default", "other"}, "other", api::StopPolicy::kNone);
  Add(0, 0, 7);
  Add(1, 0, 7);
  set.Remove(1);  // it was new, and has never been named
  infos.resize(1);
  for (const WorkloadId id : {1, 2}) {
    api::Workload object = *infos[0].object;
    object.meta.uid = "x" + std::to_string(id);
    object.spec.queue_name = "other";
    Put(id, object, 7);
  }
  std::vector<Head> heads;
  set.TakeHeads(heads);
  ASSERT_EQ(heads.size(), 2U);
  EXPECT_EQ(Refuse(0), Ids{});
  EXPECT_EQ(Refuse(1, other), Ids{2});
}

TEST_F(QueueSetTest, OtherReasonsParkOnlyTheHead) {
  for (const RequeueReason reason : {RequeueReason::kGeneric, RequeueReason::kPreemptionGated,
                                     RequeueReason::kNamespaceMismatch}) {
    set = QueueSet(true);
    infos.clear();
    Open(kBestEffort);
    Add(0, 0, 7);
    Add(1, 0, 7);
    ASSERT_EQ(Pop(), 0);
    Requeue(0, reason);
    EXPECT_EQ(Active(), (Ids{1})) << ToString(reason);
  }
}

TEST_F(QueueSetTest, WithoutHashingAVerdictParksOnlyTheHead) {
  set = QueueSet(false);
  Open(kBestEffort);
  Add(0, 0, 7);
  Add(1, 0, 7);
  ASSERT_EQ(Pop(), 0);
  Requeue(0, RequeueReason::kNoFit);
  EXPECT_EQ(Active(), (Ids{1}));
}

TEST_F(QueueSetTest, RequeuedFalseAndBackoffKeepAWorkloadInactive) {
  struct Row {
    const char* name;
    std::optional<bool> requeued;
    std::optional<Duration> requeue_in;
    Duration woken_after;
    bool active_at_first;
    bool active_when_woken;
  };
  const Row rows[] = {
      {"nothing holds it", {}, {}, 0s, true, true},
      {"Requeued=True", true, {}, 0s, true, true},
      {"Requeued=False", false, {}, 24h, false, false},
      {"its instant has not come", {}, 60s, 59s, false, false},
      {"its instant has come", {}, 60s, 60s, false, true},
      {"its instant is now", {}, 0s, 0s, true, true},
      {"both: the condition holds it on", false, 60s, 60s, false, false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    set = QueueSet(true);
    infos.clear();
    Open(kBestEffort);
    api::Workload object;
    object.meta.namespace_name = "default";
    object.meta.uid = "w";
    object.spec.queue_name = "lq";
    if (row.requeued) {
      object.status.conditions.push_back(
          {.type = api::kRequeued,
           .status = *row.requeued ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse});
    }
    if (row.requeue_in) object.status.requeue_state = {1, kNow + *row.requeue_in};
    Put(0, object, 5);
    EXPECT_EQ(!Active().empty(), row.active_at_first);
    set.Wake(queue, kNow + row.woken_after, nullptr);
    EXPECT_EQ(!Active().empty(), row.active_when_woken);
  }
}

TEST_F(QueueSetTest, ChangesOfSpecPriorityOrRequeueActivateAParkedWorkload) {
  struct Row {
    const char* name;
    std::function<void(api::Workload&)> edit;
    bool active;
  };
  const Row rows[] = {
      {"nothing", [](api::Workload&) {}, false},
      {"a label", [](api::Workload& w) { w.meta.labels["x"] = "y"; }, false},
      {"its own condition",
       [](api::Workload& w) {
         w.status.conditions.push_back(
             {.type = api::kQuotaReserved, .status = api::ConditionStatus::kFalse});
       },
       false},
      {"its spec", [](api::Workload& w) { ++w.meta.generation; }, true},
      {"its priority", [](api::Workload& w) { w.spec.priority = 9; }, true},
      {"reclaimable pods",
       [](api::Workload& w) {
         w.status.reclaimable_pods = {{"main", 1}};
       },
       true},
      {"its requeue state",
       [](api::Workload& w) {
         w.status.requeue_state = api::RequeueState{1, {}};
       },
       true},
      {"Evicted",
       [](api::Workload& w) {
         w.status.conditions.push_back(
             {.type = api::kEvicted, .status = api::ConditionStatus::kFalse});
       },
       true},
      {"Requeued=True",
       [](api::Workload& w) {
         w.status.conditions.push_back(
             {.type = api::kRequeued, .status = api::ConditionStatus::kTrue});
       },
       true},
      {"Requeued=False holds it",
       [](api::Workload& w) {
         w.status.conditions.push_back(
             {.type = api::kRequeued, .status = api::ConditionStatus::kFalse});
       },
       false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    set = QueueSet(true);
    infos.clear();
    Open(kBestEffort);
    Add(0);
    Pop();
    ASSERT_EQ(Requeue(0, RequeueReason::kGeneric), Destination::kInadmissible);
    Change(0, row.edit);
    EXPECT_EQ(!Active().empty(), row.active);
  }
}

TEST_F(QueueSetTest, AnInactiveQueueGivesNoHeadsAndKeepsItsWorkloads) {
  Open(kBestEffort);
  Add(0);
  settings.active = false;
  set.SetClusterQueue(queue, settings);
  EXPECT_FALSE(set.HasHeads());
  EXPECT_EQ(Pop(), kNoNode);
  EXPECT_EQ(Active(), (Ids{0}));
  settings.active = true;
  set.SetClusterQueue(queue, settings);
  EXPECT_EQ(Pop(), 0);
}

TEST_F(QueueSetTest, ObjectsMayArriveInAnyOrder) {
  set.namespaces().Set("default", {});
  queue = set.ClusterQueueNumber("cq");
  Add(0);
  EXPECT_EQ(set.PlaceOf(0), Destination::kNone) << "no LocalQueue yet";
  set.SetLocalQueue({"default", "lq"}, "cq", api::StopPolicy::kNone);
  EXPECT_EQ(set.PlaceOf(0), Destination::kNone) << "no ClusterQueue yet";
  settings.namespace_selector.emplace();
  settings.active = true;
  set.SetClusterQueue(queue, settings);
  EXPECT_NE(set.PlaceOf(0), Destination::kNone);
  set.SetLocalQueue({"default", "lq"}, "other", api::StopPolicy::kNone);
  EXPECT_EQ(set.PlaceOf(0), Destination::kNone) << "its LocalQueue leads elsewhere now";
  EXPECT_EQ(set.local_queues().ClusterQueueOf({"default", "lq"}), set.ClusterQueueNumber("other"));
}

TEST_F(QueueSetTest, AStoppedOrRemovedLocalQueueTakesItsWorkloadsOut) {
  Open(kBestEffort);
  Add(0);
  const api::ObjectKey key{"default", "lq"};
  set.SetLocalQueue(key, "cq", api::StopPolicy::kHold);
  EXPECT_EQ(set.PlaceOf(0), Destination::kNone);
  EXPECT_EQ(set.local_queues().RouteOf(key), std::nullopt);
  EXPECT_EQ(set.local_queues().ClusterQueueOf(key), queue) << "it exists, stopped";
  set.SetLocalQueue(key, "cq", api::StopPolicy::kNone);
  EXPECT_NE(set.PlaceOf(0), Destination::kNone);
  EXPECT_EQ(set.local_queues().CountPending(key), 1);
  set.RemoveLocalQueue(key);
  EXPECT_EQ(set.PlaceOf(0), Destination::kNone);
  EXPECT_EQ(set.local_queues().ClusterQueueOf(key), std::nullopt);
}

TEST_F(QueueSetTest, AHeadThatLeftWhileItWasDecidedIsNotPutBack) {
  Open(kBestEffort);
  Add(0);
  ASSERT_EQ(Pop(), 0);
  set.Remove(0);
  EXPECT_EQ(Requeue(0, RequeueReason::kNoFit), Destination::kNone);
  EXPECT_EQ(set.waiting(queue).count(), 0);
}

TEST_F(QueueSetTest, ANamespacePassesIfTheSelectorMatchesItsLabels) {
  struct Row {
    const char* name;
    std::optional<api::LabelSelector> selector;
    bool passes;
  };
  const Row rows[] = {
      {"absent: nobody", {}, false},
      {"empty: everybody", api::LabelSelector{}, true},
      {"a label it has", api::LabelSelector{.match_labels = {{"team", "ml"}}}, true},
      {"a label it has not", api::LabelSelector{.match_labels = {{"team", "web"}}}, false},
      {"In", api::LabelSelector{.match_expressions = {{"team", "In", {"web", "ml"}}}}, true},
      {"NotIn", api::LabelSelector{.match_expressions = {{"team", "NotIn", {"ml"}}}}, false},
      {"Exists", api::LabelSelector{.match_expressions = {{"team", "Exists", {}}}}, true},
      {"DoesNotExist", api::LabelSelector{.match_expressions = {{"x", "DoesNotExist", {}}}}, true},
  };
  Open(kBestEffort);
  set.namespaces().Set("ml", {{"team", "ml"}});
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    settings.namespace_selector = row.selector;
    set.SetClusterQueue(queue, settings);
    EXPECT_EQ(set.NamespacePasses(queue, "ml"), row.passes);
    EXPECT_FALSE(set.NamespacePasses(queue, "gone")) << "a namespace that nobody has told of";
  }
}

}  // namespace
}  // namespace berth::queue

// Goal: the order between workloads of different shapes, the counts, and the
// routes are right after additions, parking, waking and removals. Method: a
// QueueSet with one or two ClusterQueues; after each step the lists and counts are
// compared.
#include <gtest/gtest.h>

#include "tests/queue/one_queue.h"

namespace berth::queue {
namespace {

using namespace std::chrono_literals;

class QueueCountsTest : public QueueSetTest {
 protected:
  void AddAged(WorkloadId id, std::int32_t priority, Duration age, const char* local_queue = "lq") {
    api::Workload object;
    object.meta.namespace_name = "default";
    object.meta.name = object.meta.uid = "w" + std::to_string(id);
    object.meta.creation_timestamp = kNow - age;
    object.spec.queue_name = local_queue;
    object.spec.priority = priority;
    Put(id, object, 1'000 + static_cast<std::uint64_t>(id));
  }
  // Active, waiting and all, by the counters and by the lists.
  void ExpectCounts(std::int64_t active, std::int64_t waiting) {
    EXPECT_EQ(set.waiting(queue).active_count(), active);
    EXPECT_EQ(set.waiting(queue).count(), active + waiting);
    EXPECT_EQ(Active().size(), static_cast<std::size_t>(active));
    EXPECT_EQ(Inadmissible().size(), static_cast<std::size_t>(waiting));
    EXPECT_EQ(set.HasHeads(), active > 0);
  }
};

TEST_F(QueueCountsTest, HeadsComeByPriorityThenAgeThenUid) {
  Open(kBestEffort);
  AddAged(0, 1, 10s);
  AddAged(1, 1, 30s);
  AddAged(2, 1, 20s);
  AddAged(3, 2, 5s);
  AddAged(5, 1, 20s);
  AddAged(4, 1, 20s);
  EXPECT_EQ(Active(), (Ids{3, 1, 2, 4, 5, 0}));
  for (const WorkloadId next : {3, 1, 2, 4, 5, 0}) {
    ASSERT_EQ(Pop(), next);
    set.Remove(next);
  }
}

TEST_F(QueueCountsTest, ShapeOfARemovedWorkloadIsForgotten) {
  Open(kBestEffort);
  Add(0, 0, 7);
  Add(1, 0, 8);
  set.Remove(1);
  infos[1] = {};
  Add(1, 0, 9);
  Add(2, 0, 7);
  EXPECT_EQ(Active(), (Ids{0, 1, 2}));
  ASSERT_EQ(Pop(), 0);
  const auto result = set.Requeue({0, queue}, RequeueReason::kNoFit, QueueSet::Scan::kDone, kNow);
  EXPECT_EQ(result.bulk_parked, (Ids{2})) << "1 is of another shape";
  EXPECT_EQ(Active(), (Ids{1}));
}

TEST_F(QueueCountsTest, CountsFollowParkingAndWaking) {
  Open(kBestEffort);
  ExpectCounts(0, 0);
  for (const WorkloadId id : {0, 1, 2}) Add(id, 0, 7);
  Add(3, 0, 8);
  ExpectCounts(4, 0);
  ASSERT_EQ(Pop(), 0);
  EXPECT_EQ(set.waiting(queue).count(), 3) << "the head is with the scheduler";
  Requeue(0, RequeueReason::kGeneric);
  ExpectCounts(3, 1);
  ASSERT_EQ(Pop(), 1);
  Requeue(1, RequeueReason::kNoFit);
  ExpectCounts(1, 3);
  Add(4, 0, 7);
  ExpectCounts(1, 4);
  set.Remove(4);
  ExpectCounts(1, 3);
  ASSERT_EQ(Pop(), 3);
  Requeue(3, RequeueReason::kNoFit);
  ExpectCounts(0, 4);
  EXPECT_EQ(set.Wake(queue, kNow, nullptr), 4);
  ExpectCounts(4, 0);
}

TEST_F(QueueCountsTest, AHeldWorkloadCountsAsWaiting) {
  Open(kBestEffort);
  Add(0);
  Change(0, [](api::Workload& w) { w.status.requeue_state = {1, kNow + 60s}; });
  EXPECT_EQ(Active(), (Ids{0})) << "one that is active stays so";
  ASSERT_EQ(Pop(), 0);
  Requeue(0, RequeueReason::kGeneric);
  ExpectCounts(0, 1);
  set.Wake(queue, kNow + 60s, nullptr);
  ExpectCounts(1, 0);
}

TEST_F(QueueCountsTest, AnActiveWorkloadMovesWithItsPriority) {
  Open(kBestEffort);
  for (const WorkloadId id : {0, 1, 2}) Add(id, 5);
  Change(2, [](api::Workload& w) { w.spec.priority = 9; });
  EXPECT_EQ(Active(), (Ids{2, 0, 1}));
  Change(0, [](api::Workload& w) { w.spec.priority = 1; });
  EXPECT_EQ(Active(), (Ids{2, 1, 0}));
  ExpectCounts(3, 0);
}

// Two LocalQueues share the shape 7: one verdict parks the workloads of both.
TEST_F(QueueCountsTest, EachLocalQueueHasCountsOfItsOwn) {
  using Count = PendingCounts::Count;
  set.counts().SwitchOn([](const api::Workload& workload) -> PendingCounts::Values {
    const std::string* team = api::FindValue(workload.meta.labels, "team");
    return {team == nullptr ? "" : *team};
  });
  const auto taken = [this] { return set.counts().TakeChanged(); };
  const api::ObjectKey first{"default", "lq"};
  const api::ObjectKey second{"default", "other"};
  Open(kBestEffort);
  set.SetLocalQueue(second, "cq", api::StopPolicy::kNone);
  EXPECT_TRUE(taken().empty());
  Add(0, 0, 7);
  Add(1, 0, 7);
  Add(2, 0, 7);
  Change(2, [](api::Workload& w) { w.spec.queue_name = "other"; });
  EXPECT_EQ(taken(), (std::vector<Count>{{first, {""}, 2, 0}, {second, {""}, 1, 0}}));
  EXPECT_TRUE(taken().empty()) << "nothing has changed";
  ASSERT_EQ(Pop(), 0);
  EXPECT_TRUE(taken().empty()) << "a head competes";
  Requeue(0, RequeueReason::kNoFit);
  EXPECT_EQ(taken(), (std::vector<Count>{{first, {""}, 0, 2}, {second, {""}, 0, 1}}));
  Add(3, 0, 8);
  EXPECT_EQ(taken(), (std::vector<Count>{{first, {""}, 1, 2}})) << "only what changed";
  Change(1, [](api::Workload& w) { w.meta.labels["team"] = "x"; });
  EXPECT_EQ(taken(), (std::vector<Count>{{first, {""}, 1, 1}, {first, {"x"}, 0, 1}}));
  set.Wake(queue, kNow, nullptr);
  EXPECT_EQ(taken().size(), 3U);
  set.SetLocalQueue(first, "cq", api::StopPolicy::kHold);
  EXPECT_EQ(taken(), (std::vector<Count>{{first, {""}, 0, 0}, {first, {"x"}, 0, 0}}));
  for (const WorkloadId id : {0, 1, 2, 3}) set.Remove(id);
  EXPECT_EQ(taken(), (std::vector<Count>{{second, {""}, 0, 0}}));
}

TEST(PendingCountsTest, UnreadCountersEndWithTheirWorkloads) {
  PendingCounts counts;
  counts.SwitchOn(nullptr);
  const auto pass = [&counts](const std::string& name) {
    const CounterId counter = counts.Join(kNoCounter, {"team", name}, {});
    counts.AddQueued(counter, 1);
    counts.AddQueued(counter, -1);
    counts.Leave(counter);
  };
  for (int i = 0; i < 100; ++i) pass("lq" + std::to_string(i));
  EXPECT_EQ(counts.size(), 0U);
  const CounterId kept = counts.Join(kNoCounter, {"team", "kept"}, {});
  counts.AddQueued(kept, 1);
  EXPECT_EQ(counts.TakeChanged(),
            (std::vector<PendingCounts::Count>{{{"team", "kept"}, {}, 0, 1}}));
  counts.AddQueued(kept, -1);
  counts.Leave(kept);
  EXPECT_EQ(counts.size(), 1U) << "its reader has to see zero";
  EXPECT_EQ(counts.TakeChanged().size(), 1U);
  EXPECT_EQ(counts.size(), 0U);
}

TEST_F(QueueCountsTest, LessUsedLocalQueueComesFirst) {
  settings.by_usage = true;
  Open(kBestEffort);
  set.SetLocalQueue({"default", "other"}, "cq", api::StopPolicy::kNone);
  AddAged(0, 9, 30s);
  AddAged(1, 9, 20s);
  AddAged(2, 0, 10s, "other");
  EXPECT_EQ(Active(), (Ids{0, 1, 2}));
  set.SetUsage({"default", "lq"}, 2.0);
  EXPECT_EQ(Active(), (Ids{2, 0, 1}));
  EXPECT_EQ(Pop(), 2);
  set.SetUsage({"default", "other"}, 3.0);
  EXPECT_EQ(Pop(), 0);
  Requeue(0, RequeueReason::kNoFit);
  EXPECT_EQ(Pop(), 1);
  Requeue(1, RequeueReason::kNoFit);
  EXPECT_EQ(Pop(), 2);
  Requeue(2, RequeueReason::kNoFit);
  EXPECT_EQ(Inadmissible(), (Ids{0, 1, 2}));
  set.SetUsage({"default", "lq"}, 4.0);
  EXPECT_EQ(Inadmissible(), (Ids{2, 0, 1}));
}

TEST_F(QueueCountsTest, MovedLocalQueueMovesItsWorkloads) {
  Open(kBestEffort);
  Add(0);
  const ClusterQueueId other = set.ClusterQueueNumber("other");
  set.SetClusterQueue(other, settings);
  set.SetLocalQueue({"default", "lq"}, "other", api::StopPolicy::kNone);
  EXPECT_EQ(set.waiting(queue).count(), 0);
  EXPECT_EQ(set.waiting(other).Split().active, (Ids{0}));
  EXPECT_EQ(set.local_queues().RouteOf({"default", "lq"}), other);
  set.RemoveClusterQueue(other);
  EXPECT_EQ(set.PlaceOf(0), Destination::kNone);
  EXPECT_FALSE(set.HasHeads());
  Add(1);
  EXPECT_EQ(set.PlaceOf(1), Destination::kNone) << "its ClusterQueue is gone";
  set.SetClusterQueue(other, settings);
  EXPECT_EQ(set.waiting(other).Split().active, (Ids{0, 1}));
}

TEST_F(QueueCountsTest, QueueWithoutAnObjectHasNoHeads) {
  Open(kBestEffort);
  Add(0);
  ASSERT_EQ(Pop(), 0);
  set.Remove(0);
  set.SetActive(set.ClusterQueueNumber("only-named"), true);
  EXPECT_FALSE(set.HasHeads());
  EXPECT_EQ(Pop(), kNoNode);
}

TEST_F(QueueCountsTest, ANamespaceThatIsRemovedPassesNoSelector) {
  Open(kBestEffort);
  set.namespaces().Remove("never-seen");
  Add(0);
  Change(0, [](api::Workload& w) { w.meta.namespace_name = "named-by-a-workload"; });
  set.namespaces().Remove("named-by-a-workload");
  EXPECT_TRUE(set.NamespacePasses(queue, "default"));
  set.namespaces().Remove("default");
  EXPECT_FALSE(set.NamespacePasses(queue, "default"));
}

TEST_F(QueueCountsTest, ChangedNamespaceLabelsListNewlyMatchingQueues) {
  Open(kBestEffort);  // every namespace matches
  const auto open = [&](const char* name, const std::optional<api::LabelSelector>& selector) {
    settings.namespace_selector = selector;
    set.SetClusterQueue(set.ClusterQueueNumber(name), settings);
    return set.ClusterQueueNumber(name);
  };
  open("nobody", {});
  const ClusterQueueId ml = open("ml", api::LabelSelector{.match_labels = {{"team", "ml"}}});
  open("web", api::LabelSelector{.match_labels = {{"team", "web"}}});
  using Queues = std::vector<ClusterQueueId>;
  const api::StringMap labels{{"team", "ml"}};
  EXPECT_EQ(set.NewlyMatching(std::nullopt, labels), (Queues{queue, ml}));
  EXPECT_EQ(set.NewlyMatching(api::StringMap{}, labels), (Queues{ml}));
  EXPECT_EQ(set.NewlyMatching(labels, labels), Queues{});
}

}  // namespace
}  // namespace berth::queue

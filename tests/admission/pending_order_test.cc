// Goal: the visibility API shows every waiting workload in the order in which the scheduler tries
// them, with the positions in both queues, page by page.
#include "admission/pending_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/reasons.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using namespace std::chrono_literals;
using support::KeyOf;
using support::MakeJob;
using support::MakeLocalQueue;
using support::MakeQueue;
using support::TableWorld;

// "name:cluster/local".
std::string Text(const std::vector<api::PendingWorkload>& entries) {
  std::string text;
  for (const api::PendingWorkload& entry : entries) {
    text += (text.empty() ? "" : " ") + entry.meta.name + ":" +
            std::to_string(entry.position_in_cluster_queue) + "/" +
            std::to_string(entry.position_in_local_queue);
  }
  return text;
}

// A queue "a" of one GPU, and a LocalQueue "b" that leads to it too.
class PendingOrderTest : public ::testing::Test {
 protected:
  void SetUp() override { world_.Apply(MakeLocalQueue("b", "a")); }
  void Add(const std::string& name, const std::string& queue, int priority, api::Amount gpus = 1) {
    world_.Advance(1s);
    world_.Apply(MakeJob(name, queue, 1, {{"gpu", gpus}}, priority));
  }
  std::string InCluster(api::PendingPage page = {}) {
    return Text(Sorted(*world_.scheduler().state().cluster_queues().Find("a")).Page(page));
  }
  std::string InLocal(const std::string& queue, api::PendingPage page = {}) {
    const api::ObjectKey key{"default", queue};
    const auto leads_to = world_.scheduler().queues().local_queues().ClusterQueueOf(key);
    if (!leads_to) return "no such queue";
    return Text(Sorted(*leads_to).PageOf(key, page));
  }
  PendingSnapshot Sorted(ClusterQueueId queue) {
    PendingSnapshot snapshot(world_.scheduler(), queue);
    snapshot.Sort();
    return snapshot;
  }
  api::PendingWorkload First() {
    return Sorted(*world_.scheduler().state().cluster_queues().Find("a")).Page({}).front();
  }

  TableWorld world_{{"f"}, {MakeQueue("a", "", {{"f", {{"gpu", 1}}}})}};
};

TEST_F(PendingOrderTest, ListsWaitingWorkloadsInTheOrderOfTheQueue) {
  EXPECT_EQ(InCluster(), "");
  Add("runs", "a", 0);
  EXPECT_EQ(world_.Cycle(), "runs Admitted");
  Add("first", "a", 0);
  Add("second", "b", 0);
  Add("third", "a", 0);
  Add("urgent", "b", 10);
  EXPECT_EQ(InCluster(), "urgent:0/0 first:1/0 second:2/1 third:3/1");
  // A parked workload keeps its place.
  world_.Cycle();
  EXPECT_EQ(InCluster(), "urgent:0/0 first:1/0 second:2/1 third:3/1");
  EXPECT_EQ(InLocal("a"), "first:1/0 third:3/1");
  EXPECT_EQ(InLocal("b"), "urgent:0/0 second:2/1");
  world_.SetActive(KeyOf("first"), false);
  EXPECT_EQ(InLocal("a"), "third:2/0");
}

TEST_F(PendingOrderTest, LocalQueuesOfOneNameAreCountedApart) {
  world_.Apply(api::Namespace{.meta = {.name = "other"}});
  api::LocalQueue same_name = MakeLocalQueue("a", "a");
  same_name.meta.namespace_name = "other";
  world_.Apply(same_name);
  Add("first", "a", 0);
  api::Workload there = MakeJob("there", "a", 1, {{"gpu", 1}});
  there.meta.namespace_name = "other";
  world_.Advance(1s);
  world_.Apply(there);
  Add("second", "a", 0);
  EXPECT_EQ(InCluster(), "first:0/0 there:1/0 second:2/1");
  EXPECT_EQ(InLocal("a"), "first:0/0 second:2/1");
}

TEST_F(PendingOrderTest, ReturnsPagesByOffsetAndLimit) {
  for (const char* name : {"w0", "w1", "w2", "w3"}) Add(name, "a", 0);
  Add("other", "b", 1);
  EXPECT_EQ(InCluster({.offset = 1, .limit = 2}), "w0:1/0 w1:2/1");
  EXPECT_EQ(InLocal("a", {.offset = 1, .limit = 2}), "w1:2/1 w2:3/2");
  EXPECT_EQ(InCluster({.offset = 4}), "w3:4/3");
  EXPECT_EQ(InCluster({.offset = 9}), "");
  EXPECT_EQ(InCluster({.limit = 0}), "");
  EXPECT_EQ(InCluster({.offset = -1, .limit = -1}), "");
  EXPECT_EQ(InLocal("b", {.offset = -3, .limit = INT64_MAX}), "other:0/0");
}

TEST_F(PendingOrderTest, ReportsAnUnknownLocalQueueAndAnEmptyOne) {
  EXPECT_EQ(InLocal("none"), "no such queue");
  world_.Apply(MakeLocalQueue("nowhere", "missing"));
  Add("lost", "nowhere", 0);
  EXPECT_EQ(InLocal("nowhere"), "") << "as in Kueue: a LocalQueue that leads nowhere is empty";
}

TEST_F(PendingOrderTest, SnapshotIgnoresLaterChanges) {
  for (const char* name : {"w0", "w1"}) Add(name, "a", 0);
  PendingSnapshot snapshot(world_.scheduler(),
                           *world_.scheduler().state().cluster_queues().Find("a"));
  world_.DeleteWorkload(KeyOf("w0"));
  Add("w2", "a", 9);
  snapshot.Sort();
  EXPECT_EQ(Text(snapshot.Page({})), "w0:0/0 w1:1/1");
  EXPECT_EQ(InCluster(), "w2:0/0 w1:1/1");
}

TEST_F(PendingOrderTest, EntryShowsTheReasonAndMessageOfItsWorkload) {
  api::Workload workload = MakeJob("w", "a", 1, {{"gpu", 1}}, 7);
  workload.meta.owner_references.push_back({.api_version = "batch/v1", .kind = "Job", .name = "j"});
  world_.Apply(workload);
  api::PendingWorkload entry = First();
  EXPECT_EQ(entry.priority, 7);
  EXPECT_EQ(entry.local_queue, "a");
  EXPECT_EQ(entry.meta.owner_references, workload.meta.owner_references);
  EXPECT_TRUE(entry.meta.annotations.empty());
  workload = *world_.Find(KeyOf("w"));
  api::SetCondition(workload.status.conditions, {.type = api::kQuotaReserved,
                                                 .status = api::ConditionStatus::kFalse,
                                                 .reason = "Pending",
                                                 .message = "no room"});
  world_.Apply(workload);
  entry = First();
  EXPECT_EQ(entry.meta.annotations, (api::StringMap{{api::kPendingReasonAnnotation, "Pending"},
                                                    {api::kPendingMessageAnnotation, "no room"}}));
}

}  // namespace
}  // namespace berth::admission

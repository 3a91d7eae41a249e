// Goal: in a ClusterQueue that orders by usage the LocalQueue with the least usage comes first,
// before priority, age and the sticky preemptor; in other queues usage does not matter. Method:
// tables of waiting workloads and usages, compared with the order of the queue's view and heads.

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "queue/queue_set.h"

namespace berth::queue {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

constexpr WallTime kStart{1'767'225'600s};

class UsageOrderTest : public ::testing::Test {
 protected:
  UsageOrderTest() {
    queues_.namespaces().Set("team", {});
    cluster_queue_ = queues_.ClusterQueueNumber("cq");
    Set(true);
    for (const char* name : {"a", "b"}) {
      queues_.SetLocalQueue({"team", name}, "cq", api::StopPolicy::kNone);
    }
  }
  void Set(bool by_usage) {
    queues_.SetClusterQueue(
        cluster_queue_,
        {.namespace_selector = api::LabelSelector{}, .active = true, .by_usage = by_usage});
  }
  // `shape`: equal for workloads of one shape, in any LocalQueue.
  void Add(const std::string& name, const std::string& queue, std::int64_t priority,
           std::uint64_t shape = 1) {
    auto object = std::make_shared<api::Workload>();
    object->meta = {.namespace_name = "team", .name = name, .uid = name, .generation = 1};
    object->spec.queue_name = queue;
    const auto id = static_cast<WorkloadId>(names_.size());
    names_.push_back(name);
    infos_[id] = {
        .object = object, .priority = priority, .queued_at = kStart + 1s * id, .shape = shape};
    queues_.Upsert(id, nullptr, infos_[id], kStart);
  }
  void Use(const std::string& queue, double usage) { queues_.SetUsage({"team", queue}, usage); }
  std::vector<std::string> Order() const {
    std::vector<std::string> order;
    for (const WorkloadId id : queues_.waiting(cluster_queue_).Split().active) {
      order.push_back(names_[static_cast<std::size_t>(id)]);
    }
    return order;
  }
  // Takes the head; it is gone then.
  std::string Take() {
    std::vector<Head> heads;
    queues_.TakeHeads(heads);
    if (heads.empty()) return "";
    queues_.Remove(heads.front().workload);
    return names_[static_cast<std::size_t>(heads.front().workload)];
  }

  QueueSet queues_{true, Listing::kNo, UsageOrder::kCounts};
  ClusterQueueId cluster_queue_ = -1;
  std::vector<std::string> names_;
  std::map<WorkloadId, WorkloadInfo> infos_;
};

TEST_F(UsageOrderTest, OrdersByUsageThenPriorityThenAge) {
  Add("a-old", "a", 0);
  Add("b-low", "b", 0);
  Add("b-high", "b", 5);
  EXPECT_THAT(Order(), ElementsAre("b-high", "a-old", "b-low")) << "nobody has used anything";
  Use("b", 2.0);
  EXPECT_THAT(Order(), ElementsAre("a-old", "b-high", "b-low"));
  Use("a", 3.0);
  EXPECT_THAT(Order(), ElementsAre("b-high", "b-low", "a-old"));
  EXPECT_EQ(Take(), "b-high");
  Use("b", 4.0);
  EXPECT_EQ(Take(), "a-old");
  EXPECT_EQ(Take(), "b-low");
}

TEST_F(UsageOrderTest, OrderDoesNotDependOnShapes) {
  for (int i = 0; i < 20; ++i) {
    Add("a" + std::to_string(i), "a", 0, static_cast<std::uint64_t>(i % 7) + 1);
    Add("b" + std::to_string(i), "b", 0, static_cast<std::uint64_t>(i % 5) + 1);
  }
  double used_a = 0;
  double used_b = 0;
  for (int i = 0; i < 20; ++i) {  // each one taken costs its queue one
    EXPECT_EQ(Take(), "a" + std::to_string(i));
    Use("a", ++used_a);
    EXPECT_EQ(Take(), "b" + std::to_string(i));
    Use("b", ++used_b);
  }
}

TEST_F(UsageOrderTest, UsageCountsOnlyIfTheQueueIsConfigured) {
  Add("a1", "a", 0);
  Add("b1", "b", 0);
  Use("a", 9.0);
  EXPECT_THAT(Order(), ElementsAre("b1", "a1"));
  Set(false);
  EXPECT_THAT(Order(), ElementsAre("a1", "b1"));
  Set(true);
  EXPECT_THAT(Order(), ElementsAre("b1", "a1"));
}

TEST_F(UsageOrderTest, StickyPreemptorStaysBehindALessUsedLocalQueue) {
  Add("waits", "a", 0, 1);
  Add("other", "a", 9, 2);
  Add("modest", "b", 0, 3);
  Use("a", 1.0);
  Use("b", 0.5);
  EXPECT_EQ(Take(), "modest");
  Add("modest2", "b", 0, 3);
  Use("b", 2.0);
  // "other" is taken, preempts, and comes back; then "waits" gets a higher priority than it had.
  std::vector<Head> heads;
  queues_.TakeHeads(heads);
  const Head head = heads.front();
  EXPECT_EQ(names_[static_cast<std::size_t>(head.workload)], "other");
  queues_.Requeue(head, RequeueReason::kPendingPreemption, QueueSet::Scan::kDone, kStart);
  EXPECT_THAT(Order(), ElementsAre("other", "waits", "modest2"));
  Use("b", 0.5);
  EXPECT_EQ(Take(), "modest2") << "who used less stands before one that waits for its victims";
  EXPECT_EQ(Take(), "other");
}

}  // namespace
}  // namespace berth::queue

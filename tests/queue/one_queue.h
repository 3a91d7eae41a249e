// tests/queue/one_queue.h — a QueueSet with one ClusterQueue, one LocalQueue and a handful of
// workloads, for tests.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "queue/queue_set.h"

namespace berth::queue {

inline constexpr WallTime kNow{std::chrono::seconds(1'000)};

class QueueSetTest : public ::testing::Test {
 protected:
  void Open(api::QueueingStrategy strategy) {
    queue = set.ClusterQueueNumber("cq");
    settings.strategy = strategy;
    settings.namespace_selector.emplace();
    settings.active = true;
    set.namespaces().Set("default", {});
    set.SetClusterQueue(queue, settings);
    set.SetLocalQueue({"default", "lq"}, "cq", api::StopPolicy::kNone);
  }
  // UIDs in the order of ids; `shape` 0: one of its own.
  void Add(WorkloadId id, std::int32_t priority = 0, std::uint64_t shape = 0) {
    api::Workload object;
    object.meta.namespace_name = "default";
    object.meta.name = object.meta.uid = "w" + std::to_string(id);
    object.meta.generation = 1;
    object.spec.queue_name = "lq";
    object.spec.priority = priority;
    Put(id, object, shape == 0 ? 1'000 + static_cast<std::uint64_t>(id) : shape);
  }
  void Put(WorkloadId id, const api::Workload& object, std::uint64_t shape) {
    if (static_cast<std::size_t>(id) >= infos.size()) {
      infos.resize(static_cast<std::size_t>(id) + 1);
    }
    WorkloadInfo& slot = infos[static_cast<std::size_t>(id)];
    WorkloadInfo next;
    next.object = std::make_shared<const api::Workload>(object);
    next.priority = object.spec.priority.value_or(0);
    next.queued_at = object.meta.creation_timestamp;
    next.shape = shape;
    const WorkloadInfo before = slot;
    set.Upsert(id, before.object == nullptr ? nullptr : &before, next, kNow);
    slot = next;
  }
  template <typename Edit>
  void Change(WorkloadId id, Edit edit) {
    api::Workload object = *infos[static_cast<std::size_t>(id)].object;
    edit(object);
    Put(id, object, infos[static_cast<std::size_t>(id)].shape);
  }
  WorkloadId Pop() {
    std::vector<Head> heads;
    set.TakeHeads(heads);
    return heads.empty() ? kNoNode : heads[0].workload;
  }
  Destination Requeue(WorkloadId id, RequeueReason reason,
                      QueueSet::Scan scan = QueueSet::Scan::kDone) {
    return set.Requeue({id, queue}, reason, scan, kNow).to;
  }
  std::vector<WorkloadId> Active() const { return set.waiting(queue).Split().active; }
  std::vector<WorkloadId> Inadmissible() const { return set.waiting(queue).Split().inadmissible; }

  using Ids = std::vector<WorkloadId>;
  QueueSet set{true, Listing::kAll, UsageOrder::kCounts};
  ClusterQueueSettings settings;
  ClusterQueueId queue = -1;
  std::vector<WorkloadInfo> infos;
};

inline constexpr auto kStrict = api::QueueingStrategy::kStrictFifo;
inline constexpr auto kBestEffort = api::QueueingStrategy::kBestEffortFifo;

}  // namespace berth::queue

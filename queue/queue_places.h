// queue/queue_places.h — the order of the ClusterQueues of a QueueSet, their workloads by age, and
// the workloads for which a queue keeps a place.
//
// The object is valid as long as the QueueSet. Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "api/queue_policy.h"
#include "base/clock.h"
#include "queue/cluster_queue_entry.h"

namespace berth::queue {

class QueueSet;

class QueuePlaces {
 public:
  explicit QueuePlaces(QueueSet& set) : set_(set) {}

  // The order of the queue's waiting workloads from this call on. All waiting workloads become
  // active, like new ones.
  void SetRules(ClusterQueueId queue, const PlaceRules& rules);

  // The number of the submitter: by the annotation berth.dev/user, without it by the LocalQueue.
  std::int32_t UserOf(const api::Workload& workload);
  // The share of the queue that the submitter has; counts with the order FairByUser.
  void SetUserShare(ClusterQueueId queue, std::int32_t user, double share);

  // Sets whether ByAge lists the queue's waiting workloads.
  void ListAges(ClusterQueueId queue, bool lists);
  using Ages = std::set<std::pair<WallTime, WorkloadId>>;  // by queue-order instant
  const Ages& ByAge(ClusterQueueId queue) const;
  std::uint64_t version() const;  // changes with any of these lists

  // Sets whether the queue keeps a place for the workload; no effect if the workload does not wait.
  void SetKept(WorkloadId workload, bool kept);
  bool IsInBackoff(WorkloadId workload) const;
  // The expected run time of a waiting workload has changed. Wakes nobody.
  void SetExpectedRun(WorkloadId workload, std::int64_t seconds);

 private:
  // Calls `change` for the node of the workload, and sorts the node in again if it is in a queue.
  template <typename Change>
  void SortAgain(WorkloadId workload, Change change);

  QueueSet& set_;
};

}  // namespace berth::queue

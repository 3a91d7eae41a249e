// queue/waiting_workloads.h — the waiting workloads of one ClusterQueue of a QueueSet, for readers.
//
// A view: valid until the QueueSet changes. Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <vector>

#include "queue/cluster_queue_entry.h"

namespace berth::queue {

class WaitingWorkloads {
 public:
  explicit WaitingWorkloads(const ClusterQueueEntry& queue) : queue_(queue) {}

  struct Lists {
    std::vector<WorkloadId> active;        // in order
    std::vector<WorkloadId> inadmissible;  // in the order that they would have if active
  };
  Lists Split() const;  // without the taken head
  // Every waiting workload, active or not, in the order that all would have if active.
  std::vector<WorkloadId> All() const { return queue_.pending.All(); }
  // The workloads of All in no order, in O(n), with the ranks by which a reader can sort them.
  struct Ranked {
    WorkloadId workload = kNoNode;
    PendingRank rank;
  };
  std::vector<Ranked> AllRanked() const;
  // The parked workloads that precede `workload` (kNoNode: all), in order, at most `most`: of those
  // with one shape and namespace the first, and only of shapes that have been tried since the last
  // wake-up.
  std::vector<WorkloadId> ParkedBefore(WorkloadId workload, std::size_t most) const {
    return queue_.pending.ParkedBefore(workload, most);
  }
  // Changes whenever the workloads that All returns, their order or their objects do.
  std::uint64_t version() const { return queue_.version; }

  // Workloads that compete for the head.
  std::int64_t active_count() const { return queue_.pending.active_count(); }
  std::int64_t count() const;  // active and inadmissible, without the taken head
  PendingQueue::ShapeCounts CountShapes() const { return queue_.pending.CountShapes(); }

 private:
  const ClusterQueueEntry& queue_;
};

}  // namespace berth::queue

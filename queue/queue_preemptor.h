// queue/queue_preemptor.h — the workload whose preemptions one ClusterQueue of a QueueSet waits
// for.
//
// The object is valid until the QueueSet changes. Threads: one. Errors: none.
// Source: Kueue pkg/cache/queue (stickyWorkload).
#pragma once

#include <cstdint>
#include <vector>

#include "queue/cluster_queue_entry.h"

namespace berth::queue {

class QueuePreemptor {
 public:
  // `nodes` and `versions`: those of the QueueSet.
  QueuePreemptor(ClusterQueueId number, ClusterQueueEntry& queue, std::vector<PendingNode>& nodes,
                 std::uint64_t& versions)
      : queue_(queue), nodes_(nodes), versions_(versions), number_(number) {}

  // Whether the workload is the preemptor, and its object has had the same generation since then.
  bool Is(WorkloadId workload) const {
    const PendingQueue::Preemptor& preemptor = queue_.pending.preemptor();
    return preemptor.node == workload && preemptor.generation == node(workload).generation;
  }
  // In a queue that orders by usage: puts the head before LocalQueues with less usage, until it
  // leaves or another workload preempts. No effect in other queues, where Requeue's order holds.
  void PutFirst(WorkloadId head);
  // Gives a workload that waits in the queue the state after Requeue for its preemptions and
  // PutFirst; no effect on other workloads.
  void Restore(WorkloadId workload);

 private:
  PendingNode& node(WorkloadId workload) const {
    return nodes_[static_cast<std::size_t>(workload)];
  }

  ClusterQueueEntry& queue_;
  std::vector<PendingNode>& nodes_;
  std::uint64_t& versions_;
  ClusterQueueId number_;
};

}  // namespace berth::queue

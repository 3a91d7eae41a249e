// admission/due_trees.h — the trees of cohorts in which a cycle may move a head.
//
// With a thousand queues most heads wait for others: preemptors for the ends of their victims, and
// workloads for quota that is kept for a preemptor. Such a head moves when a workload of its tree
// changes; a cycle for the due trees leaves out the others.
//
//     workload changes ──Note──▶ due ──heads are taken──▶ at rest ──a head moves──▶ due
//
// Threads: one. Errors: none.
#pragma once

#include <vector>

#include "admission/cluster_state.h"
#include "admission/decision.h"
#include "admission/workloads/workload_records.h"
#include "queue/queue_set.h"

namespace berth::admission {

class DueTrees {
 public:
  // Both must outlive the object.
  DueTrees(const ClusterState& state, const queue::QueueSet& queues)
      : state_(state), queues_(queues) {}

  // A workload of the queue has changed, or may move in the next cycle.
  void Note(ClusterQueueId queue);
  void NoteQueueOf(const api::Workload& waiting);
  bool Has(ClusterQueueId queue) const;
  // A cycle has taken the heads of all due trees.
  void Clear() { is_due_.assign(is_due_.size(), false); }

  // Whether trees share no nodes.
  bool AreApart() const;

 private:
  NodeId RootOf(ClusterQueueId queue) const;

  const ClusterState& state_;
  const queue::QueueSet& queues_;
  std::vector<bool> is_due_;  // by root
};

// Whether the head, whose decision gave no quota, moves only after a change in its tree.
bool WaitsForOthers(const Decision& decision, const WorkloadRecord& head);

}  // namespace berth::admission

// The heads of a QueueSet: taking heads, and requeueing decided ones.
#include "base/prefetch.h"
#include "queue/queue_set.h"

namespace berth::queue {
namespace {

bool IsImmediate(RequeueReason reason, api::QueueingStrategy strategy) {
  if (strategy == api::QueueingStrategy::kStrictFifo) {
    return reason != RequeueReason::kNamespaceMismatch;
  }
  return reason == RequeueReason::kFailedAfterNomination ||
         reason == RequeueReason::kPendingPreemption || reason == RequeueReason::kPreemptionFailed;
}

}  // namespace

const char* ToString(RequeueReason reason) {
  switch (reason) {
    case RequeueReason::kGeneric: return "";
    case RequeueReason::kFailedAfterNomination: return "FailedAfterNomination";
    case RequeueReason::kPendingPreemption: return "PendingPreemption";
    case RequeueReason::kPreemptionFailed: return "PreemptionFailed";
    case RequeueReason::kNoFit: return "NoFit";
    case RequeueReason::kPreemptionNoCandidates: return "PreemptionNoCandidates";
    case RequeueReason::kPreemptionGated: return "PreemptionGated";
    case RequeueReason::kNamespaceMismatch: return "NamespaceMismatch";
  }
  return "";
}

void QueueSet::NoteHead(ClusterQueueId queue) {
  const ClusterQueueEntry& noted = entry(queue);
  present_.SetHead(queue, noted.settings.active && noted.pending.active_count() > 0);
}

void QueueSet::TakeHeads(std::vector<Head>& heads) {
  ++cycle_;
  heads.clear();
  present_.ForEachHead([&](ClusterQueueId queue) {
    Prefetch(&entry(queue), sizeof(ClusterQueueEntry));
    heads.push_back({kNoNode, queue});
  });
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (i + kPrefetchAhead < heads.size()) {
      entry(heads[i + kPrefetchAhead].cluster_queue).pending.ExpectHead();
    }
    ClusterQueueEntry& asked = entry(heads[i].cluster_queue);
    heads[i].workload = asked.taken_head = asked.pending.Head();
    Prefetch(&node(asked.taken_head), sizeof(PendingNode));
  }
  for (const Head& head : heads) {
    node(head.workload).evaluated_generation = node(head.workload).generation;
  }
}

QueueSet::RequeueResult QueueSet::Requeue(const Head& head, RequeueReason reason, Scan scan,
                                          WallTime now) {
  RequeueResult result;
  ClusterQueueEntry& queue = entry(head.cluster_queue);
  if (queue.taken_head != head.workload) return result;
  queue.taken_head = kNoNode;
  const PendingNode& put_back = node(head.workload);
  PendingQueue& pending = queue.pending;
  const bool best_effort = queue.settings.strategy == api::QueueingStrategy::kBestEffortFifo;
  if (reason == RequeueReason::kPendingPreemption) {
    pending.SetPreemptor({head.workload, put_back.evaluated_generation, best_effort});
    PendingChanged(head.cluster_queue);
  }
  const bool may_run = MayRun(put_back, now);
  const bool woken_since = queue.woken_in_cycle >= cycle_;
  if (may_run && (IsImmediate(reason, queue.settings.strategy) || woken_since ||
                  scan == Scan::kPendingFlavors)) {
    result.to = Destination::kActive;  // where the head still is
    return result;
  }
  result.to = Destination::kInadmissible;
  if (!may_run) pending.BackOff(head.workload);
  const bool verdict_of_shape =
      reason == RequeueReason::kNoFit || reason == RequeueReason::kPreemptionNoCandidates;
  if (equivalence_hashing_ && best_effort && verdict_of_shape) {
    pending.BulkPark(head.workload, result.bulk_parked);
    std::erase(result.bulk_parked, head.workload);
  } else if (may_run) {
    pending.Park(head.workload);
  }
  NoteHead(head.cluster_queue);
  return result;
}

bool QueueSet::IsPreemptor(const Head& head) const {
  const PendingQueue::Preemptor& preemptor = entry(head.cluster_queue).pending.preemptor();
  return preemptor.node == head.workload && preemptor.generation == node(head.workload).generation;
}

void QueueSet::PutFirst(const Head& head) {
  PendingQueue& pending = entry(head.cluster_queue).pending;
  if (!pending.by_usage()) return;
  pending.SetPreemptor({head.workload, node(head.workload).evaluated_generation, true, true});
  PendingChanged(head.cluster_queue);
}

void QueueSet::RestorePreemptor(const Head& head) {
  if (!IsQueued(head.workload)) return;
  PendingNode& waits = node(head.workload);
  if (waits.cluster_queue != head.cluster_queue) return;
  const ClusterQueueEntry& queue = entry(head.cluster_queue);
  const bool best_effort = queue.settings.strategy == api::QueueingStrategy::kBestEffortFifo;
  waits.evaluated_generation = waits.generation;
  entry(head.cluster_queue).pending.SetPreemptor({head.workload, waits.generation, best_effort});
  PendingChanged(head.cluster_queue);
  PutFirst(head);
}

}  // namespace berth::queue

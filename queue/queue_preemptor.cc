#include "queue/queue_preemptor.h"

namespace berth::queue {

void QueuePreemptor::PutFirst(WorkloadId head) {
  if (!queue_.pending.order().by_usage) return;
  queue_.pending.SetPreemptor({head, node(head).evaluated_generation, true, true});
  queue_.version = ++versions_;
}

void QueuePreemptor::Restore(WorkloadId workload) {
  if (static_cast<std::size_t>(workload) >= nodes_.size()) return;
  PendingNode& waits = node(workload);
  if (waits.cluster_queue != number_) return;
  const bool best_effort = queue_.settings.strategy == api::QueueingStrategy::kBestEffortFifo;
  waits.evaluated_generation = waits.generation;
  queue_.pending.SetPreemptor({workload, waits.generation, best_effort});
  queue_.version = ++versions_;
  PutFirst(workload);
}

}  // namespace berth::queue

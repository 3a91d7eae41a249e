#include "provisioning/controller/budget_waiters.h"

#include "provisioning/spend.h"

namespace berth::provisioning {

void BudgetWaiters::Follow(const api::Workload& workload, bool waits) {
  if (waits) {
    by_queue_[QueueOf(workload)].try_emplace(FlowPlaceOf(workload), workload.meta.key());
    return;
  }
  const auto waiting = by_queue_.find(QueueOf(workload));
  if (waiting == by_queue_.end()) return;
  waiting->second.erase(FlowPlaceOf(workload));
  if (waiting->second.empty()) by_queue_.erase(waiting);
}

std::vector<api::ObjectKey> BudgetWaiters::Of(const std::string& queue) const {
  std::vector<api::ObjectKey> keys;
  const auto waiting = by_queue_.find(queue);
  if (waiting == by_queue_.end()) return keys;
  for (const auto& [place, key] : waiting->second) keys.push_back(key);
  return keys;
}

}  // namespace berth::provisioning

#include "admission/cycle/cycle_parked.h"

#include <algorithm>
#include <vector>

#include "admission/flavors/flavor_assigner.h"
#include "admission/wake_requests.h"
#include "admission/workloads/workload_records.h"

namespace berth::admission {

void CycleParked::NoteAdmitted(const CycleEntry& entry) {
  if (!held_.empty()) held_.erase(entry.decision.cluster_queue);
}

bool CycleParked::Fits(WorkloadId parked, ClusterQueueId queue) const {
  const queue::WorkloadInfo& info = context_.records.at(parked).info;
  if (info.failed_check || !context_.queues.NamespacePasses({parked, queue})) return false;
  Assignment assignment;
  return FitsWithoutPreemption(
      {context_.state, context_.gates, context_.fair_sharing, 0,
       context_.gates.topology_aware_scheduling, context_.ignore_undeclared_resources},
      info, queue, assignment);
}

bool CycleParked::GoFirst(const CycleEntry& entry) {
  if (!context_.own_rules.parked_first || context_.wakes.empty()) return false;
  if (entry.decision.second_pass || entry.GoesFirst()) return false;
  const ClusterQueueId queue = entry.decision.cluster_queue;
  const std::vector<WorkloadId> parked =
      context_.queues.waiting(queue).ParkedBefore(entry.decision.workload, kMostTried);
  if (parked.empty() || !context_.wakes.HasTreeOf(queue)) return false;
  const bool fits =
      std::any_of(parked.begin(), parked.end(), [&](WorkloadId each) { return Fits(each, queue); });
  if (!fits) return false;
  std::int32_t& held = held_[queue];
  if (held == kMostHeld) return false;
  ++held;
  return true;
}

}  // namespace berth::admission

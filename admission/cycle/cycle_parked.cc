#include "admission/cycle/cycle_parked.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "admission/catalogue/catalogue_queries.h"
#include "admission/flavors/flavor_assigner.h"
#include "admission/wake_requests.h"
#include "admission/workloads/workload_records.h"

namespace berth::admission {

void CycleParked::NoteAdmitted(const CycleEntry& entry) {
  if (!held_.empty()) held_.erase(entry.decision.cluster_queue);
}

void CycleParked::Clear() {
  reclaimers_.Clear();
  looked_at_.clear();
}

bool CycleParked::Fits(WorkloadId parked, ClusterQueueId queue, Assignment& assignment) const {
  const queue::WorkloadInfo& info = context_.records.at(parked).info;
  if (info.failed_check || !context_.queues.NamespacePasses({parked, queue})) return false;
  return FitsWithoutPreemption(
      {context_.state, context_.gates, context_.fair_sharing, 0,
       context_.gates.topology_aware_scheduling, context_.ignore_undeclared_resources},
      info, queue, assignment);
}

bool CycleParked::FitsInOwnQuota(WorkloadId parked, ClusterQueueId queue) const {
  Assignment assignment;
  return Fits(parked, queue, assignment) && assignment.borrow_height == 0;
}

bool CycleParked::PrecedingFits(const CycleEntry& entry) const {
  const ClusterQueueId queue = entry.decision.cluster_queue;
  const std::vector<WorkloadId> parked =
      context_.queues.waiting(queue).ParkedBefore(entry.decision.workload, kMostTried);
  return std::any_of(parked.begin(), parked.end(), [&](WorkloadId each) {
    Assignment assignment;
    return Fits(each, queue, assignment);
  });
}

// Adds the owners of quota in the queue's tree, once in a cycle.
void CycleParked::AddOwners(ClusterQueueId of_tree) {
  const std::optional<WakeTarget> tree = TreeOf(context_.state, of_tree);
  if (!tree || std::count(looked_at_.begin(), looked_at_.end(), *tree) > 0) return;
  looked_at_.push_back(*tree);
  std::size_t queues = 0;
  for (const ClusterQueueId id : QueuesOf(context_.state, *tree)) {
    const QueueState& owner = context_.state.queue(id);
    if (owner.spec.preemption.reclaim_within_cohort == api::PreemptionPolicy::kNever) continue;
    const std::vector<WorkloadId> parked =
        context_.queues.waiting(id).ParkedBefore(queue::kNoNode, kMostTried);
    if (parked.empty()) continue;
    if (++queues > kMostQueues) return;
    const auto fits = std::find_if(parked.begin(), parked.end(),
                                   [&](WorkloadId each) { return FitsInOwnQuota(each, id); });
    if (fits != parked.end()) reclaimers_.Add(owner, context_.records.at(*fits).info.priority);
  }
}

bool CycleParked::OwnerReclaims(const CycleEntry& entry) {
  if (entry.decision.assignment.borrow_height == 0) return false;
  AddOwners(entry.decision.cluster_queue);
  return !reclaimers_.empty() && reclaimers_.WouldPreempt(entry);
}

Remark CycleParked::WhyFirst(const CycleEntry& entry) {
  const OwnRules& rules = context_.own_rules;
  if (context_.wakes.empty() || !(rules.parked_first || rules.owners_before_borrowers)) {
    return Remark::kNone;
  }
  if (entry.decision.second_pass || entry.GoesFirst()) return Remark::kNone;
  const ClusterQueueId queue = entry.decision.cluster_queue;
  if (!context_.wakes.HasTreeOf(queue)) return Remark::kNone;
  Remark why = Remark::kNone;
  if (rules.parked_first && PrecedingFits(entry)) {
    why = Remark::kParkedComeFirst;
  } else if (rules.owners_before_borrowers && OwnerReclaims(entry)) {
    why = Remark::kOwnersComeFirst;
  } else {
    return why;
  }
  std::int32_t& held = held_[queue];
  if (held == kMostHeld) return Remark::kNone;
  ++held;
  return why;
}

}  // namespace berth::admission

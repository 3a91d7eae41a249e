#include "admission/cycle_owners.h"

#include <algorithm>
#include <cstdint>

#include "api/condition.h"
#include "api/reasons.h"

namespace berth::admission {
namespace {

// Whether the last eviction gave quota back to another queue of the cohort.
bool WasReclaimed(const api::Workload& workload) {
  const api::Condition* preempted = api::FindCondition(workload.status.conditions, api::kPreempted);
  return preempted != nullptr && preempted->status == api::ConditionStatus::kTrue &&
         (preempted->reason == api::kInCohortReclamation ||
          preempted->reason == api::kInCohortReclaimWhileBorrowing);
}

bool ShareAnAmount(const Usage& a, const Usage& b) {
  return std::any_of(a.begin(), a.end(), [&b](const FlavorResourceAmount& one) {
    return one.amount > 0 && std::any_of(b.begin(), b.end(), [&one](const auto& other) {
             return other.flavor_resource == one.flavor_resource && other.amount > 0;
           });
  });
}

}  // namespace

void CycleOwners::NoteAdmitted(const CycleEntry& entry) {
  if (!context_.own_rules.owners_before_returning_borrowers) return;
  const ClusterQueueId id = entry.decision.cluster_queue;
  const bool reclaims = context_.state.queue(id).spec.preemption.reclaim_within_cohort !=
                        api::PreemptionPolicy::kNever;
  if (!reclaims || entry.decision.assignment.borrow_height > 0) return;
  constexpr std::int64_t kWithTheHead = 1;
  if (context_.queues.waiting(id).active_count() > kWithTheHead) owners_.push_back(&entry);
}

bool CycleOwners::GoBefore(const CycleEntry& entry) const {
  if (owners_.empty() || entry.decision.second_pass || entry.input.plan != nullptr) return false;
  if (entry.decision.assignment.borrow_height == 0) return false;
  if (!WasReclaimed(*entry.decision.object)) return false;
  const ClusterState& state = context_.state;
  const NodeId root = state.tree().Root(state.queue(entry.decision.cluster_queue).node);
  return std::any_of(owners_.begin(), owners_.end(), [&](const CycleEntry* owner) {
    return state.tree().Root(state.queue(owner->decision.cluster_queue).node) == root &&
           ShareAnAmount(owner->decision.assignment.usage, entry.decision.assignment.usage);
  });
}

}  // namespace berth::admission

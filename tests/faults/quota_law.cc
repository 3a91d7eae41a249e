#include "tests/faults/quota_law.h"

#include <algorithm>

#include "api/reasons.h"

namespace berth::sim {

QuotaLaw::QuotaLaw(const Truth& truth) {
  for (const auto& [name, cohort] : truth.cohorts()) {
    formulae_.AddCohort(name, cohort.parent, cohort.quotas);
  }
  for (const auto& [name, queue] : truth.cluster_queues()) {
    formulae_.AddQueue(name, queue.parent, queue.quotas);
    preemption_[name] = queue.preemption;
    if (queue.stopped || queue.deleting) stopped_.insert(name);
  }
}

// Does what Unlawful does, for a victim in another ClusterQueue.
std::optional<std::string> QuotaLaw::UnlawfulAcross(const std::string& reason,
                                                    const PreemptionFacts& policy,
                                                    const WorkloadFacts& preemptor,
                                                    const WorkloadFacts& victim) const {
  const bool is_lower = victim.priority < preemptor.priority;
  if (reason == api::kInCohortReclaimWhileBorrowing) {
    if (policy.borrow_within != "LowerPriority") return "borrowWithinCohort does not allow it";
    if (!is_lower) return "its priority is not lower";
    if (policy.borrow_threshold && victim.priority > *policy.borrow_threshold) {
      return "its priority is above maxPriorityThreshold";
    }
    return std::nullopt;
  }
  if (policy.reclaim == "Never") return "reclaimWithinCohort does not allow it";
  if (policy.reclaim == "LowerPriority" && !is_lower) return "its priority is not lower";
  return std::nullopt;
}

std::optional<std::string> QuotaLaw::Unlawful(const std::string& reason,
                                              const WorkloadFacts& preemptor,
                                              const std::string& preemptor_queue,
                                              const WorkloadFacts& victim,
                                              const support::UsageByQueue& usage) const {
  const auto policy = preemption_.find(preemptor_queue);
  if (policy == preemption_.end()) return "ClusterQueue " + preemptor_queue + " is not there";
  const bool same_queue = victim.cluster_queue == preemptor_queue;
  if (reason == api::kInClusterQueue) {
    if (!same_queue) return "it is in another ClusterQueue";
    const std::string& within = policy->second.within;
    if (within == "Never") return "withinClusterQueue does not allow it";
    if (victim.priority < preemptor.priority) return std::nullopt;
    const bool is_newer_equal =
        victim.priority == preemptor.priority && within == "LowerOrNewerEqualPriority";
    return is_newer_equal ? std::nullopt : std::optional<std::string>("its priority is not lower");
  }
  if (reason == api::kTimeSliceExpired) {
    if (!same_queue) return "it is in another ClusterQueue";
    if (victim.priority != preemptor.priority) return "its priority is not equal";
    return std::nullopt;
  }
  if (same_queue) return "it is in the same ClusterQueue";
  if (!formulae_.SameTree(preemptor_queue, victim.cluster_queue)) return "it is in another cohort";
  const bool borrows = std::any_of(victim.usage.begin(), victim.usage.end(), [&](const auto& each) {
    return formulae_.BorrowsSomewhere(victim.cluster_queue, each.first, usage);
  });
  if (!borrows) return "its ClusterQueue borrows nothing";
  return UnlawfulAcross(reason, policy->second, preemptor, victim);
}

}  // namespace berth::sim

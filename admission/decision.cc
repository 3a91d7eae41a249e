#include "admission/decision.h"

#include <algorithm>
#include <bit>

#include "api/condition.h"
#include "api/reasons.h"
#include "base/prefetch.h"

namespace berth::admission {

bool PodSetDecision::HasMessage() const {
  return std::any_of(obstacles.begin(), obstacles.end(),
                     [](const Obstacle& obstacle) { return obstacle.in_message; });
}

AssignmentMode PodSetDecision::Mode() const {
  if (!HasMessage()) return AssignmentMode::kFit;
  if (flavors.empty()) return AssignmentMode::kNoFit;
  AssignmentMode mode = AssignmentMode::kFit;
  for (const FlavorChoice& choice : flavors) mode = std::min(mode, choice.mode);
  return mode;
}

SmallVector<FlavorResourceId, 2> ContestedBy(const Assignment& assignment) {
  SmallVector<FlavorResourceId, 2> contested;
  for (const PodSetDecision& pod_set : assignment.pod_sets) {
    for (const FlavorChoice& choice : pod_set.flavors) {
      if (choice.mode == AssignmentMode::kPreempt &&
          std::find(contested.begin(), contested.end(), choice.flavor_resource) ==
              contested.end()) {
        contested.push_back(choice.flavor_resource);
      }
    }
  }
  return contested;
}

bool ScanState::HasPendingFlavors() const {
  return std::any_of(positions.begin(), positions.end(),
                     [](const Position& position) { return position.tried_index != -1; });
}

std::int32_t ScanState::NextToTry(std::int32_t pod_set, ResourceId resource) const {
  for (const Position& position : positions) {
    if (position.pod_set == pod_set && position.resource == resource) {
      return position.tried_index + 1;
    }
  }
  return 0;
}

void ScanState::Mark(const ScanState& before) {
  const auto number = static_cast<std::uint32_t>(attempts);
  if (std::has_single_bit(number)) return Mark();
  mark = before.mark;
  marked_at = before.marked_at;
}

void ScanState::Mark() {
  mark = positions;
  marked_at = changes_seen;
}

void Assignment::Clear() {
  pod_sets.clear();
  borrow_height = 0;
  mode = AssignmentMode::kNoFit;
  no_fit_reason = NoFitReason::kNone;
  usage.clear();
  scan.positions.clear();
  scan.changes_seen = scan.begun_at = scan.cycle = 0;
  scan.attempts = 0;
  scan.shape = 0;
}

const char* ToString(PreemptionReason reason) {
  switch (reason) {
    case PreemptionReason::kInClusterQueue: return api::kInClusterQueue;
    case PreemptionReason::kInCohortReclamation: return api::kInCohortReclamation;
    case PreemptionReason::kInCohortFairSharing: return api::kInCohortFairSharing;
    case PreemptionReason::kInCohortReclaimWhileBorrowing:
      return api::kInCohortReclaimWhileBorrowing;
    case PreemptionReason::kTimeSliceExpired: return api::kTimeSliceExpired;
  }
  return "";
}

std::optional<PreemptionReason> FirstReason(const api::Workload& victim) {
  const api::Condition* preempted = api::FindCondition(victim.status.conditions, api::kPreempted);
  if (preempted == nullptr || preempted->status != api::ConditionStatus::kTrue) return std::nullopt;
  for (const PreemptionReason reason :
       {PreemptionReason::kInClusterQueue, PreemptionReason::kInCohortReclamation,
        PreemptionReason::kInCohortFairSharing, PreemptionReason::kInCohortReclaimWhileBorrowing,
        PreemptionReason::kTimeSliceExpired}) {
    if (preempted->reason == ToString(reason)) return reason;
  }
  return std::nullopt;
}

bool GivesQuota(const Decision& decision) {
  return decision.outcome == Outcome::kAdmitted || decision.outcome == Outcome::kQuotaReserved;
}

PreemptionPlan PlanOf(const Decision& decision) {
  PreemptionPlan plan;
  plan.assignment.mode = decision.assignment.mode;
  plan.assignment.borrow_height = decision.assignment.borrow_height;
  for (const PodSetDecision& pod_set : decision.assignment.pod_sets) {
    PodSetDecision& kept = plan.assignment.pod_sets.emplace_back();
    kept.name = pod_set.name;
    kept.count = pod_set.count;
    kept.flavors = pod_set.flavors;
  }
  for (const Victim& victim : decision.victims) plan.victims.push_back(victim.workload);
  return plan;
}

bool SameChoice(const Assignment& a, const Assignment& b) {
  const auto same_flavor = [](const FlavorChoice& left, const FlavorChoice& right) {
    return left.resource == right.resource && left.flavor == right.flavor;
  };
  return std::equal(a.pod_sets.begin(), a.pod_sets.end(), b.pod_sets.begin(), b.pod_sets.end(),
                    [&](const PodSetDecision& left, const PodSetDecision& right) {
                      return left.count == right.count &&
                             std::equal(left.flavors.begin(), left.flavors.end(),
                                        right.flavors.begin(), right.flavors.end(), same_flavor);
                    });
}

DecisionList& DecisionList::operator=(const DecisionList& other) {
  if (this == &other) return *this;
  Reset(other.size());
  for (const Decision& decision : other) List(made_.emplace_back(decision));
  return *this;
}

void DecisionList::Reset(std::size_t count) {
  listed_.clear();
  // Most objects have been replaced meanwhile: releasing them touches their memory again.
  for (std::size_t i = 0; i < made_.size(); ++i) {
    if (i + kPrefetchAhead < made_.size()) Prefetch(OwnersOf(made_[i + kPrefetchAhead].object), 1);
    made_[i].object.reset();
  }
  made_.clear();
  made_.reserve(count);
  listed_.reserve(count);
}

const char* ToString(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAdmitted: return "Admitted";
    case Outcome::kQuotaReserved: return "QuotaReserved";
    case Outcome::kPreempting: return "Preempting";
    case Outcome::kDeferred: return "Deferred";
    case Outcome::kSkipped: return "Skipped";
    case Outcome::kNoCandidates: return "NoCandidates";
    case Outcome::kNoFit: return "NoFit";
    case Outcome::kNotNominated: return "NotNominated";
    case Outcome::kEvictForNodeFailure: return "EvictForNodeFailure";
  }
  return "";
}

}  // namespace berth::admission

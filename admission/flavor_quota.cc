// The assignment mode of a flavor, the comparison of two flavors, and the mode of an assignment.
#include <algorithm>
#include <utility>

#include "admission/flavor_assigner.h"

namespace berth::admission {

bool FlavorAssigner::CanPreemptWhileBorrowing() const {
  const api::QueuePreemption& preemption = queue_.spec.preemption;
  return preemption.borrow_within_cohort != api::PreemptionPolicy::kNever ||
         (context_.fair_sharing &&
          preemption.reclaim_within_cohort != api::PreemptionPolicy::kNever);
}

FlavorAssigner::QuotaAnswer FlavorAssigner::AskQuota(const Demand& demand, Obstacles& obstacles) {
  const QuotaTree& tree = context_.state.tree();
  const FlavorResourceId fr = demand.flavor_resource;
  const Amount total = api::AddAmounts(demand.assumed, demand.request);
  const auto note = [&](Obstacle::Kind kind, Amount limit) {
    Obstacle& obstacle = obstacles.emplace_back();
    obstacle.kind = kind;
    obstacle.resource = demand.resource;
    obstacle.flavor = demand.flavor;
    obstacle.assumed = demand.assumed;
    obstacle.requested = demand.request;
    obstacle.limit = limit;
  };
  if (replaced_ != nullptr && total <= 0) return {};  // the replaced slice has it all
  const Amount potential = tree.Potential(queue_.node, fr);
  if (total > potential) {
    note(Obstacle::Kind::kExceedsMaximum, potential);
    return {{Rating::kNoFit, 0}, NoFitReason::kExceedsMaxQuota};
  }
  QuotaAnswer answer;
  const QuotaTree::Lender lender = tree.LowestSubtreeThatFits(queue_.node, fr, total);
  const Amount available = tree.Available(queue_.node, fr);
  answer.mode.borrow_height = lender.height;
  if (total <= available) {
    answer.mode.rating = Rating::kFit;
    return answer;
  }
  note(Obstacle::Kind::kInsufficientQuota, available);
  if (tree.Nominal(queue_.node, fr) < total && !lender.below_root && !CanPreemptWhileBorrowing()) {
    answer.mode.rating = Rating::kNoFit;
    answer.no_fit_reason = NoFitReason::kWaitingForQuota;
    return answer;
  }
  const PreemptionOracle::Answer simulated = oracle_.Simulate(fr, total);
  answer.mode.borrow_height = simulated.borrow_height;
  switch (simulated.possibility) {
    case PreemptionPossibility::kNoCandidates: answer.mode.rating = Rating::kNoCandidates; break;
    case PreemptionPossibility::kPreempt: answer.mode.rating = Rating::kPreempt; break;
    case PreemptionPossibility::kReclaim: answer.mode.rating = Rating::kReclaim; break;
  }
  return answer;
}

bool FlavorAssigner::Preferred(const Mode& a, const Mode& b) const {
  if (a.rating == Rating::kNoFit) return false;
  if (b.rating == Rating::kNoFit) return true;
  // A mode that cannot succeed in this attempt ranks below all others, whatever the preference.
  if ((a.rating == Rating::kNoCandidates) != (b.rating == Rating::kNoCandidates)) {
    return b.rating == Rating::kNoCandidates;
  }
  if (queue_.spec.flavor_fungibility.preference ==
      api::FungibilityPreference::kPreemptionOverBorrowing) {
    if (a.borrow_height != b.borrow_height) return a.borrow_height < b.borrow_height;
    return a.rating > b.rating;
  }
  if (a.rating != b.rating) return a.rating > b.rating;
  return a.borrow_height < b.borrow_height;
}

bool FlavorAssigner::TryNext(const Mode& mode) const {
  const api::FlavorFungibility& policy = queue_.spec.flavor_fungibility;
  if (mode.rating == Rating::kNoFit || mode.rating == Rating::kNoCandidates) return true;
  const bool preempts = mode.rating == Rating::kPreempt || mode.rating == Rating::kReclaim;
  if (preempts && policy.when_can_preempt == api::SearchPolicy::kTryNextFlavor) return true;
  return mode.borrow_height > 0 && policy.when_can_borrow == api::SearchPolicy::kTryNextFlavor;
}

void FlavorAssigner::MergeAttempts(FlavorAttempts& into, FlavorScan& flavor_scan,
                                   const CompiledGroup& group) const {
  if (into.empty()) {
    into = std::move(flavor_scan.attempts);
    return;
  }
  const auto is_scanned = [&flavor_scan](FlavorId flavor) {
    return std::any_of(flavor_scan.attempts.begin(), flavor_scan.attempts.end(),
                       [flavor](const auto& attempt) { return attempt.flavor == flavor; });
  };
  // A flavor of this group that the scan did not reach lacks the resource.
  for (FlavorAttempt& known : into) {
    if (flavor_scan.attempts.empty() || !group.Has(known.flavor) || is_scanned(known.flavor))
      continue;
    known.mode = AssignmentMode::kNoFit;
    known.no_fit_reason = NoFitReason::kNoMatchingFlavor;
  }
  for (const FlavorAttempt& attempt : flavor_scan.attempts) {
    const auto known = std::find_if(into.begin(), into.end(), [&attempt](const auto& other) {
      return other.flavor == attempt.flavor;
    });
    if (known == into.end()) {
      into.push_back(attempt);
      continue;
    }
    known->mode = std::min(known->mode, attempt.mode);
    known->borrow_height = std::max(known->borrow_height, attempt.borrow_height);
    known->no_fit_reason = std::max(known->no_fit_reason, attempt.no_fit_reason);
    if (attempt.preemption && (!known->preemption || *attempt.preemption < *known->preemption)) {
      known->preemption = attempt.preemption;
    }
  }
}

void FlavorAssigner::Finish(Assignment& assignment) const {
  assignment.mode = assignment.pod_sets.empty() ? AssignmentMode::kNoFit : AssignmentMode::kFit;
  for (const PodSetDecision& pod_set : assignment.pod_sets) {
    assignment.mode = std::min(assignment.mode, pod_set.Mode());
  }
  if (replaced_ == nullptr) return;
  erase_if(assignment.usage, [](const FlavorResourceAmount& item) { return item.amount <= 0; });
  assignment.scan.positions.clear();  // the one flavor is tried each time
}

void FlavorAssigner::ResolveNoFitReason(Assignment& assignment) const {
  if (assignment.mode != AssignmentMode::kNoFit) return;
  assignment.no_fit_reason = NoFitReason::kNone;
  for (const PodSetDecision& pod_set : assignment.pod_sets) {
    if (pod_set.Mode() != AssignmentMode::kNoFit) continue;
    if (pod_set.attempts.empty()) {
      assignment.no_fit_reason = NoFitReason::kNoMatchingFlavor;
      continue;
    }
    // Flavors of a group are alternatives: the mildest counts. Groups are all needed: the severest.
    for (const CompiledGroup& group : queue_.groups) {
      std::optional<NoFitReason> mildest;
      for (const FlavorAttempt& attempt : pod_set.attempts) {
        if (attempt.mode != AssignmentMode::kNoFit || !group.Has(attempt.flavor)) continue;
        mildest = std::min(mildest.value_or(attempt.no_fit_reason), attempt.no_fit_reason);
      }
      if (mildest) assignment.no_fit_reason = std::max(assignment.no_fit_reason, *mildest);
    }
  }
}

}  // namespace berth::admission

#include "admission/flavors/flavor_attempts.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace berth::admission {

void MergeAttempts(FlavorAttempts& into, FlavorAttempts&& scan, const CompiledGroup& group) {
  if (into.empty()) {
    into = std::move(scan);
    return;
  }
  const auto is_scanned = [&scan](FlavorId flavor) {
    return std::any_of(scan.begin(), scan.end(),
                       [flavor](const auto& attempt) { return attempt.flavor == flavor; });
  };
  // A flavor of this group that the scan did not reach lacks the resource.
  for (FlavorAttempt& known : into) {
    if (scan.empty() || !group.Has(known.flavor) || is_scanned(known.flavor)) continue;
    known.mode = AssignmentMode::kNoFit;
    known.no_fit_reason = NoFitReason::kNoMatchingFlavor;
  }
  for (const FlavorAttempt& attempt : scan) {
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

NoFitReason NoFitReasonOf(const QueueState& queue, const Assignment& assignment) {
  NoFitReason severest = NoFitReason::kNone;
  for (const PodSetDecision& pod_set : assignment.pod_sets) {
    if (pod_set.Mode() != AssignmentMode::kNoFit) continue;
    if (pod_set.attempts.empty()) {
      severest = NoFitReason::kNoMatchingFlavor;
      continue;
    }
    for (const CompiledGroup& group : queue.groups) {
      std::optional<NoFitReason> mildest;
      for (const FlavorAttempt& attempt : pod_set.attempts) {
        if (attempt.mode != AssignmentMode::kNoFit || !group.Has(attempt.flavor)) continue;
        mildest = std::min(mildest.value_or(attempt.no_fit_reason), attempt.no_fit_reason);
      }
      if (mildest) severest = std::max(severest, *mildest);
    }
  }
  return severest;
}

}  // namespace berth::admission

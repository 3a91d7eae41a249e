#include "admission/flavors/flavor_mode.h"

namespace berth::admission {

FlavorRating RatingOf(PreemptionPossibility possibility) {
  switch (possibility) {
    case PreemptionPossibility::kNoCandidates: return FlavorRating::kNoCandidates;
    case PreemptionPossibility::kPreempt: return FlavorRating::kPreempt;
    case PreemptionPossibility::kReclaim: return FlavorRating::kReclaim;
  }
  return FlavorRating::kNoCandidates;
}

bool IsPreferred(const api::FlavorFungibility& policy, const FlavorMode& a, const FlavorMode& b) {
  if (a.rating == FlavorRating::kNoFit) return false;
  if (b.rating == FlavorRating::kNoFit) return true;
  // A mode that cannot succeed in this attempt ranks below all others, whatever the preference.
  if ((a.rating == FlavorRating::kNoCandidates) != (b.rating == FlavorRating::kNoCandidates)) {
    return b.rating == FlavorRating::kNoCandidates;
  }
  if (policy.preference == api::FungibilityPreference::kPreemptionOverBorrowing) {
    if (a.borrow_height != b.borrow_height) return a.borrow_height < b.borrow_height;
    return a.rating > b.rating;
  }
  if (a.rating != b.rating) return a.rating > b.rating;
  return a.borrow_height < b.borrow_height;
}

bool TriesNext(const api::FlavorFungibility& policy, const FlavorMode& mode) {
  if (mode.rating == FlavorRating::kNoFit || mode.rating == FlavorRating::kNoCandidates)
    return true;
  const bool preempts =
      mode.rating == FlavorRating::kPreempt || mode.rating == FlavorRating::kReclaim;
  if (preempts && policy.when_can_preempt == api::SearchPolicy::kTryNextFlavor) return true;
  return mode.borrow_height > 0 && policy.when_can_borrow == api::SearchPolicy::kTryNextFlavor;
}

void NoteRating(FlavorRating rating, FlavorAttempt& attempt) {
  switch (rating) {
    case FlavorRating::kNoFit: attempt.mode = AssignmentMode::kNoFit; break;
    case FlavorRating::kFit: attempt.mode = AssignmentMode::kFit; break;
    case FlavorRating::kNoCandidates:
      attempt.preemption = PreemptionPossibility::kNoCandidates;
      attempt.mode = AssignmentMode::kPreempt;
      break;
    case FlavorRating::kPreempt:
      attempt.preemption = PreemptionPossibility::kPreempt;
      attempt.mode = AssignmentMode::kPreempt;
      break;
    case FlavorRating::kReclaim:
      attempt.preemption = PreemptionPossibility::kReclaim;
      attempt.mode = AssignmentMode::kPreempt;
      break;
  }
}

}  // namespace berth::admission

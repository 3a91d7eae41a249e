// admission/flavors/flavor_mode.h — how well one flavor serves a request, and what the queue's
// flavorFungibility makes of it: when a usable flavor ends the scan over flavors, and which of two
// flavors is better.
//
// Threads: pure functions. Errors: none.
// Units: borrow heights in levels of the cohort tree.
// Source: Kueue KEP-582, pkg/scheduler/flavorassigner (granularMode, isPreferred,
// shouldTryNextFlavor).
#pragma once

#include <cstdint>

#include "admission/decision.h"
#include "api/queues.h"

namespace berth::admission {

enum class FlavorRating : std::uint8_t { kNoFit, kNoCandidates, kPreempt, kReclaim, kFit };
struct FlavorMode {
  FlavorRating rating = FlavorRating::kFit;
  std::int32_t borrow_height = 0;
};

FlavorRating RatingOf(PreemptionPossibility possibility);
// Whether `a` is better than `b`.
bool IsPreferred(const api::FlavorFungibility& policy, const FlavorMode& a, const FlavorMode& b);
// Whether the scan goes on behind a flavor of this mode.
bool TriesNext(const api::FlavorFungibility& policy, const FlavorMode& mode);
// Writes the rating to the attempt.
void NoteRating(FlavorRating rating, FlavorAttempt& attempt);

}  // namespace berth::admission

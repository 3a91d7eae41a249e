// admission/flavors/flavor_attempts.h — what the attempts on flavors tell about pod sets: the
// attempts of several resource groups as one list, and the reason why an assignment does not fit.
//
// Threads: pure functions. Errors: none.
#pragma once

#include "admission/catalogue/catalogue.h"
#include "admission/decision.h"
#include "base/small_vector.h"

namespace berth::admission {

using FlavorAttempts = SmallVector<FlavorAttempt, 1>;

// Adds the attempts of the scan over the resource group to `into`: the worst outcome of each flavor
// stays. The scan may be without attempts.
void MergeAttempts(FlavorAttempts& into, FlavorAttempts&& scan, const CompiledGroup& group);

// The reason of an assignment with the mode kNoFit. Flavors of a group are alternatives: the
// mildest reason counts. Groups are all needed: the severest counts.
NoFitReason NoFitReasonOf(const QueueState& queue, const Assignment& assignment);

}  // namespace berth::admission

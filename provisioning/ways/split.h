// provisioning/ways/split.h — a Workload whose pods need machines of several pools, where the
// policy has `split: {mode: PerPodSet}`: each part (request_parts.h) has a request.
//
//     request of part 1 ─┐
//     request of part 2 ─┴─ all have their nodes ─▶ Ready;  one fails, or the others have not come
//                           within holdSeconds ─▶ all end, and the step has failed once
//
// Units: seconds. Threads: pure functions. Errors: none. Source: this repository's specification of
// capacity.
#pragma once

#include "provisioning/ways/check_situation.h"
#include "provisioning/ways/move.h"

namespace berth::provisioning {

// Decides the check while its runners are for parts of the Workload. Precondition: there is a
// runner.
void FollowParts(const CheckSituation& check, Move& move);

}  // namespace berth::provisioning

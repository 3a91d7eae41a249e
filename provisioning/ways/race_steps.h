// provisioning/ways/race_steps.h — what a check does while several requests race for its Workload
// (provisioning/race.h).
//
//     request 1 ──stagger──▶ request 2 ──stagger──▶ …   the first whose nodes come wins
//         all fail ─▶ each is a failed attempt of its step
//
// Units: seconds. Threads: pure functions. Errors: none. Source: this repository's specification of
// capacity.
#pragma once

#include "provisioning/ways/check_situation.h"
#include "provisioning/ways/move.h"

namespace berth::provisioning {

// Preconditions: the policy has a race, the check is not Ready and has a runner.
void FollowRace(const CheckSituation& check, Move& move);

}  // namespace berth::provisioning

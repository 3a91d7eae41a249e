// provisioning/ways/consequence.h — what follows from the failure that the memory of a check
// counted last (steps.h).
//
//     memory says: retry ─▶ Retry;  reject ─▶ Rejected;  ask ─▶ the next request is due
//     no step applies ─▶ another flavor, the end of a veto, an administrator, or the policy's end
//
// Units: seconds. Threads: pure functions. Errors: none.
#pragma once

#include "provisioning/ways/check_situation.h"
#include "provisioning/ways/move.h"

namespace berth::provisioning {

// Draws the consequence. Returns false where the next request is due, or waited for. Precondition:
// the check has a policy that concerns its flavors.
bool DrawConsequence(const CheckSituation& check, Move& move);

}  // namespace berth::provisioning

// provisioning/decide_check.h — decides the state of one check of a Workload, and its actions.
// Internal to provisioning/; decide.h is the entrance.
//
//     draw the consequence of the last failure ─ the next request is due, or waited for ─▶
//     delete what is obsolete ─▶ pods need no capacity? Ready
//         requests may win: divided, parts, race, or the one request
//         none, and Ready:  keep the leases
//         none:             lease idle nodes, else ask
//
// Each way is a function in ways/, which reads a CheckSituation and adds to a Move.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <optional>

#include "api/provisioning_policy.h"
#include "api/workload.h"
#include "base/clock.h"
#include "provisioning/decide.h"
#include "provisioning/vetoes.h"

namespace berth::provisioning {

struct CheckOutcome {
  std::optional<api::ProvisioningMemory> memory;  // to write first; nullopt: it stays
  Vetoes vetoes;  // the vetoes of the policy's steps, if the memory stays
};

// Adds the changed check and its actions to the decision.
CheckOutcome DecideCheck(const Situation& situation, const CheckInput& input,
                         const api::AdmissionCheckState& before, const DecideOptions& options,
                         WallTime now, Decision& out);

}  // namespace berth::provisioning

// provisioning/ways/surplus.h — requests of a check that have lost a race (race_steps.h), and the
// nodes that came for them.
//
//     request has lost ─ no nodes came, or no keepSurplusSeconds ─▶ deleted
//                      └ nodes came ─ offered to others for keepSurplusSeconds ─▶ deleted
//
// Units: seconds, nano-dollars. Threads: pure functions. Errors: none.
#pragma once

#include "api/provisioning_request.h"
#include "provisioning/ways/check_situation.h"
#include "provisioning/ways/move.h"

namespace berth::provisioning {

// Deletes a request that has lost, or keeps it while its nodes are offered to others. The waste of
// its nodes is counted in the memory, once.
void DropLoser(const CheckSituation& check, const api::ProvisioningRequest& request, Move& move);

}  // namespace berth::provisioning

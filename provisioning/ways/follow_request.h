// provisioning/ways/follow_request.h — what a check does about one request that exists.
//
//     waits ─▶ Pending, with the cloud's reason; too long, or overtaken ─▶ counted as a failure
//     Provisioned ─▶ Ready;  in use ─▶ guarded until its end
//     Failed, booking expired before admission ─▶ Retry or Rejected; with a policy ─▶ counted
//     capacity revoked ─▶ Rejected; with `onRevoked: Requeue` ─▶ counted
//
// Units: seconds. Threads: pure functions. Errors: none. Source: Kueue
// pkg/controller/admissionchecks/provisioning.
#pragma once

#include "api/provisioning_request.h"
#include "provisioning/ways/check_situation.h"
#include "provisioning/ways/move.h"

namespace berth::provisioning {

void FollowRequest(const CheckSituation& check, const api::ProvisioningRequest& request,
                   Move& move);

// Sets the check to Pending, with the cause of the wait in the message. A request that no
// controller answers fails after the time of the policy.
void WaitFor(const CheckSituation& check, const api::ProvisioningRequest& request, Move& move);

}  // namespace berth::provisioning

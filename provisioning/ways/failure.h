// provisioning/ways/failure.h — why a request can no longer win, and how a check counts the
// failure.
//
// A failure is counted in the Workload's memory, which is written first and alone; the next
// decision draws the consequence from it (consequence.h).
//
// Units: seconds. Threads: pure functions. Errors: none.
#pragma once

#include <optional>
#include <string>

#include "api/provisioning_request.h"
#include "base/clock.h"
#include "provisioning/policy_steps.h"
#include "provisioning/ways/check_situation.h"
#include "provisioning/ways/move.h"

namespace berth::provisioning {

// Why the request can no longer win. nullopt: its nodes have come, or it waits; while it waits, the
// move wakes the Workload at the end of the wait limit. Precondition: the check has a policy.
std::optional<FailedRequest> FailureOf(const CheckSituation& check, const Runner& runner,
                                       Move& move);

// Counts the failure of the request, which happened at `at`. Its charge is settled first.
// Precondition: the check has a policy.
void CountFailure(const CheckSituation& check, const api::ProvisioningRequest& request,
                  const std::string& reason, const std::string& message, WallTime at, Move& move);

// All vetoes, those included that do not count while a request waits. Precondition: the check has a
// policy.
Vetoes VetoesAfterFailure(const CheckSituation& check);

}  // namespace berth::provisioning

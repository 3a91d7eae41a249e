// provisioning/ways/expiry.h — what a check does about the length of a run (run_duration.h).
//
//     expected run ─▶ parameter of the request
//     capacity in use ─ 15 minutes before its end ─▶ warning
//                     ─ evictBeforeSeconds before its end ─▶ given up
//
// Units: seconds. Threads: pure functions. Errors: none. Source: this repository's specification of
// capacity; queued provisioning's maxRunDurationSeconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/provisioning_request.h"
#include "provisioning/run_duration.h"
#include "provisioning/ways/check_situation.h"
#include "provisioning/ways/move.h"

namespace berth::provisioning {

// The value of kMaxRunParameter for a request of that class; nullopt: the policy or the class does
// not want it, or the run is unknown.
std::optional<std::int64_t> RunToAskFor(const CheckSituation& check,
                                        const std::string& provisioning_class);

// Adds, once, the event that the cloud is going to take the capacity of the request back. The
// memory of the warning is written first. Returns whether the capacity is given up before its end.
bool GuardExpiry(const CheckSituation& check, const api::ProvisioningRequest& request, Move& move);

}  // namespace berth::provisioning

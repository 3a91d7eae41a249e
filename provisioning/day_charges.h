// provisioning/day_charges.h — which charges of a LocalQueue's day belong to the requests of a
// check.
//
//     request is to be made ─▶ open charge, by its attempt
//         nodes came ─▶ kept charge, by its uid;  none came ─▶ taken back
//
// Units: USD in billionths; days of UTC. Threads: pure functions. Errors: none. Source: spend.h.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "api/provisioning_policy.h"
#include "api/provisioning_request.h"
#include "api/workload.h"
#include "provisioning/decide.h"
#include "provisioning/spend.h"

namespace berth::provisioning {

// The charges of the Workload that leave room for its next request: the charge of the next attempt,
// and the charges of requests that are given up and deleted first.
std::set<std::string> ReplacedCharges(const Situation& situation, const CheckInput& input,
                                      const api::ProvisioningMemory& memory);

// The settlement of the charge of the request when the request is gone or cannot be granted: it is
// taken back if no nodes came, else kept under an id of its own. Empty: nothing is left to do.
std::vector<Charge> SettledCharges(const SpendMemory& spend, const api::Workload& workload,
                                   const std::string& check,
                                   const api::ProvisioningRequest& request);

}  // namespace berth::provisioning

// provisioning/asked_requests.h — what the ProvisioningRequests of a Workload tell a check: their
// attempts, steps, zones and pods.
//
// A request of the check carries its attempt in its name (request_names.h), its step and its zone
// in annotations.
//
// Units: pods, attempts from 1. Threads: pure functions. Errors: none; a request of another check
// is passed over.
#pragma once

#include <cstdint>
#include <string>

#include "api/provisioning_policy.h"
#include "api/provisioning_request.h"
#include "provisioning/decide.h"

namespace berth::provisioning {

// The zone in which the request asks, or empty.
std::string ZoneOf(const api::ProvisioningRequest& request);
// The name of the step in which the request asks, or empty.
std::string StepNameOf(const api::ProvisioningRequest& request);

// Whether the request is for one part of its Workload's pods, whose parts are asked for one after
// the other.
bool IsDivided(const api::ProvisioningRequest& request);
// The pods of the request.
std::int64_t PodsOf(const api::ProvisioningRequest& request);

// The step of the newest request after attempt `counted` that is not being deleted, or empty.
std::string AskedStep(const Situation& situation, const std::string& check, std::int32_t counted);

// Whether a request after attempt `counted` waits for its nodes, or has them.
bool HasLiveRequest(const Situation& situation, const std::string& check, std::int32_t counted);

// The attempt of the check's next request.
std::int32_t NextAttempt(const Situation& situation, const CheckInput& input,
                         const api::ProvisioningMemory& memory);

}  // namespace berth::provisioning

// tests/faults/request_part.h — for which pods of its Workload a ProvisioningRequest is.
//
// Threads: pure functions.
#pragma once

#include <string>

#include "local/apiserver/api.h"

namespace berth::sim {

// The first pod set that the request is for, as the name of its template ends; requests for other
// pod sets of a Workload are for other pods.
std::string PartOf(const local::Json& request);

// Whether the pods of the request's Workload are asked for one part after the other.
bool IsDivided(const local::Json& request);

}  // namespace berth::sim

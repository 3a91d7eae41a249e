// local/cluster/pod_resources.h — what a pod asks for and what a node offers.
//
// Pure. Units: api::Amount (cpu in milli-CPU, everything else in whole items).
#pragma once

#include "api/quantity.h"
#include "local/apiserver/api.h"

namespace berth::local::cluster {

// A map of quantities ({"cpu": "100m"}); entries that are no quantity are left out.
api::ResourceAmounts AmountsOf(const Json* quantities);

// max(sum of containers and sidecars, each init container with the sidecars before it) + overhead.
// Pod-level resources replace the sum where they are set.
api::ResourceAmounts PodRequests(const Json& pod_spec);

void AddTo(api::ResourceAmounts& sum, const api::ResourceAmounts& amounts);
void TakeFrom(api::ResourceAmounts& sum, const api::ResourceAmounts& amounts);

}  // namespace berth::local::cluster

// local/cluster/pod_resources.h — the requests of a pod and the amounts of a node.
//
// Pure. Units: api::Amount (cpu in milli-CPU, everything else in whole items).
#pragma once

#include "api/quantity.h"
#include "local/apiserver/api.h"

namespace berth::local::cluster {

// Converts a map of quantities ({"cpu": "100m"}); skips invalid quantities.
api::ResourceAmounts AmountsOf(const Json* quantities);

// max(sum of containers and sidecars, each init container with the sidecars before it) + overhead.
// Pod-level resources replace the sum where they are set.
api::ResourceAmounts PodRequests(const Json& pod_spec);

void AddTo(api::ResourceAmounts& sum, const api::ResourceAmounts& amounts);
void TakeFrom(api::ResourceAmounts& sum, const api::ResourceAmounts& amounts);

}  // namespace berth::local::cluster

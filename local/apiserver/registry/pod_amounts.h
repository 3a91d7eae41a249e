// local/apiserver/registry/pod_amounts.h — the amounts of resources that a pod requests.
//
// Pure. Source: Kubernetes "Resource Management for Pods and Containers".
#pragma once

#include "api/quantity.h"
#include "local/apiserver/api.h"

namespace berth::local {

// A map of quantities as amounts; quantities that cannot be read are left out.
api::ResourceAmounts AmountsIn(const Json* quantities);

// The sum over the pod's containers of `field` ("requests" or "limits"), as the scheduler counts
// it: sidecars and overhead included, and at least the amount of the largest init container.
api::ResourceAmounts PodAmounts(const Json& pod_spec, const char* field);

}  // namespace berth::local

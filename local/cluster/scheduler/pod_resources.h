// local/cluster/scheduler/pod_resources.h — the requests of a pod and the amounts of a node.
//
// Pure. Units: api::Amount (cpu in milli-CPU, everything else in whole items).
#pragma once

#include <optional>
#include <string>

#include "api/quantity.h"
#include "local/apiserver/api.h"

namespace berth::local::cluster {

// Converts a map of quantities ({"cpu": "100m"}); skips invalid quantities.
api::ResourceAmounts AmountsOf(const Json* quantities);

// max(sum of containers and sidecars, each init container with the sidecars before it) + overhead.
// Pod-level resources replace the sum where they are set.
api::ResourceAmounts PodRequests(const Json& pod_spec);

// The reason why the device plugins of the node refuse the pod, in kubelet's words; nullopt: they
// accept the pod. A node with the label kOneShareLabel gives a pod one share of a GPU, and refuses
// a container that requests more.
inline constexpr char kOneShareLabel[] = "cloud.berth.dev/one-share-a-pod";
std::optional<std::string> DeviceRefusal(const Json& pod_spec, const Json& node);

void AddTo(api::ResourceAmounts& sum, const api::ResourceAmounts& amounts);
void TakeFrom(api::ResourceAmounts& sum, const api::ResourceAmounts& amounts);

}  // namespace berth::local::cluster

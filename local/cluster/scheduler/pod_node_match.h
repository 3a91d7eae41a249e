// local/cluster/scheduler/pod_node_match.h — whether a pod may run on a node: selector, affinity,
// taints.
//
// Pure. Source: Kubernetes "Assigning Pods to Nodes", "Taints and Tolerations".
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "local/apiserver/api.h"

namespace berth::local::cluster {

// Whether nodeSelector and required node affinity of `pod_spec` match labels and name of `node`.
bool MatchesNodeSelection(const Json& pod_spec, const Json& node);

// The sum of the weights of preferred node affinity whose terms match the node.
std::int64_t PreferenceFor(const Json& pod_spec, const Json& node);

// Whether every NoSchedule and NoExecute taint in `taints` is tolerated.
bool ToleratesTaints(const Json& pod_spec, const Json& taints);

// How long the pod stays on a node with these NoExecute taints; nullopt: for ever.
std::optional<Duration> ToleranceOf(const Json& pod_spec, const Json& taints);

}  // namespace berth::local::cluster

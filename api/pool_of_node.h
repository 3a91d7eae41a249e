// api/pool_of_node.h — the pool of a node, and pods that stand on nodes without being work.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <string>

#include "api/pod.h"

namespace berth::api {

// The pool of the node, by the label that its cloud or its autoscaler gives to the node (GKE,
// Karpenter, EKS, AKS); empty: none.
std::string NodePoolOf(const Node& node);

// Whether the pod comes with the node: a DaemonSet's, or a kubelet's own (a mirror pod).
bool IsDaemon(const Pod& pod);

}  // namespace berth::api

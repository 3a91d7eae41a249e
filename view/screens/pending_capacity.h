// view/screens/pending_capacity.h — parts of `berth capacity` about nodes that autoscalers bring
// for pending pods: Workloads that wait under a check of berth.dev/reactive-capacity, and
// Karpenter's NodePools with the used part of their limits.
//
// Pure: data in, text out. A table is empty without rows, else it begins with a blank line.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "view/screens/cluster_view.h"
#include "view/screens/text.h"

namespace berth::view {

std::string RenderPendingCapacity(const ClusterView& view, const TextStyle& style);
std::string RenderKarpenterPools(const ClusterView& view, const TextStyle& style);

// Whether pods of the Workload wait for nodes, or the Workload waits for permission to start, under
// a check of the view that is responsible for pending pods.
bool WaitsForNodes(const ClusterView& view, const api::Workload& workload);

// The keys are stable; names of spans end in Seconds.
nlohmann::json PendingCapacityJson(const ClusterView& view);
nlohmann::json KarpenterPoolsJson(const ClusterView& view);

}  // namespace berth::view

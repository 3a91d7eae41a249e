// cli/simulated_cluster.h — manifests, or a cluster, as the objects of a simulation.
//
// Threads: pure functions.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "cli/screens/cluster_view.h"
#include "simulation/cluster.h"

namespace berth::cli {

// Reads ClusterQueues, Cohorts, LocalQueues, ResourceFlavors and WorkloadPriorityClasses of
// kueue.x-k8s.io/v1beta1 and v1beta2, and Namespaces; lists of `kubectl get -o json` too. A
// LocalQueue without namespace is in "default". Other kinds are skipped.
//
// Errors: kInvalid with kind, name and field; an object that stands twice.
Result<simulation::Cluster> ReadSimulatedCluster(const std::vector<nlohmann::json>& documents);

// The objects of a view that was read from a cluster.
simulation::Cluster SimulatedClusterOf(const ClusterView& view);

}  // namespace berth::cli

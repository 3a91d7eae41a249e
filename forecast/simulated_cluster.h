// forecast/simulated_cluster.h — manifests, or a cluster, as the objects of a simulation.
//
// Threads: pure functions.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "simulation/cluster_objects.h"
#include "view/screens/cluster_view.h"

namespace berth::forecast {

// Reads ClusterQueues, Cohorts, LocalQueues, ResourceFlavors and WorkloadPriorityClasses of
// kueue.x-k8s.io/v1beta1 and v1beta2, and Namespaces; lists of `kubectl get -o json` too. A
// LocalQueue without namespace is in "default". Other kinds are skipped (NotSimulatedIn).
//
// Errors: kInvalid with kind, name and field; kInvalid also for an object that occurs twice.
Result<simulation::Cluster> ReadSimulatedCluster(const std::vector<nlohmann::json>& documents);

// A sentence for each kind among the documents that only --pools or --full reads: a simulation of
// the scheduler alone leaves these out. Sorted. `has_pools`: NodePools and Nodes come from
// elsewhere.
std::vector<std::string> NotSimulatedIn(const std::vector<nlohmann::json>& documents,
                                        bool has_pools);

// The objects of a view that was read from a cluster.
simulation::Cluster SimulatedClusterOf(const view::ClusterView& view);

}  // namespace berth::forecast

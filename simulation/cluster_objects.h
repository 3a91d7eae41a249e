// simulation/cluster_objects.h — the objects that a simulation starts with.
//
// Threads: data. Errors: none.
#pragma once

#include <string>
#include <vector>

#include "api/pod.h"
#include "api/queues.h"

namespace berth::simulation {

struct Cluster {
  std::vector<api::ResourceFlavor> flavors;
  std::vector<api::Cohort> cohorts;
  std::vector<api::ClusterQueue> cluster_queues;
  std::vector<api::LocalQueue> local_queues;
  std::vector<api::Namespace> namespaces;
  std::vector<api::PriorityClass> priority_classes;  // WorkloadPriorityClasses
  // The three lists below are empty unless topologies are simulated.
  std::vector<api::Topology> topologies;
  std::vector<api::Node> nodes;
  std::vector<api::Pod> pods;  // pods that never end, such as those of DaemonSets
};

// Makes the cluster one that World can run: sorts the objects by name, adds the namespaces of
// LocalQueues that lack an object, labels every namespace with its name as the API server does, and
// removes the parts that World does not simulate. Returns a sentence for each removed part.
//
// World simulates no admission checks (each check counts as Ready at once), and only the topologies
// in `topologies`.
std::vector<std::string> Prepare(Cluster& cluster);

}  // namespace berth::simulation

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
  // Where topologies are played; else empty.
  std::vector<api::Topology> topologies;
  std::vector<api::Node> nodes;
  std::vector<api::Pod> pods;  // that use their nodes for ever, such as those of DaemonSets
};

// Makes the cluster one that World can run: sorts the objects by name, adds the namespaces of
// LocalQueues that lack an object, labels every namespace with its name as the API server does, and
// takes out what World does not play. Returns a sentence for each thing taken out.
//
// World plays no admission checks (each check counts as Ready at once), and the topologies of
// `topologies` alone.
std::vector<std::string> Prepare(Cluster& cluster);

}  // namespace berth::simulation

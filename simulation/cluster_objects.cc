#include "simulation/cluster_objects.h"

#include <algorithm>

namespace berth::simulation {
namespace {

// The API server sets the label on every namespace.
constexpr char kNamespaceNameLabel[] = "kubernetes.io/metadata.name";

template <typename T>
void SortByKey(std::vector<T>& objects) {
  std::stable_sort(objects.begin(), objects.end(),
                   [](const T& a, const T& b) { return a.meta.key() < b.meta.key(); });
}

void CompleteNamespaces(Cluster& cluster) {
  std::vector<api::Namespace>& known = cluster.namespaces;
  for (const api::LocalQueue& queue : cluster.local_queues) {
    const std::string& name = queue.meta.namespace_name;
    const bool found = std::any_of(known.begin(), known.end(), [&name](const api::Namespace& each) {
      return each.meta.name == name;
    });
    if (!found) known.emplace_back().meta.name = name;
  }
  for (api::Namespace& each : known) each.meta.labels[kNamespaceNameLabel] = each.meta.name;
}

bool HasTopology(const Cluster& cluster, const std::string& name) {
  return std::any_of(cluster.topologies.begin(), cluster.topologies.end(),
                     [&name](const api::Topology& each) { return each.meta.name == name; });
}

}  // namespace

std::vector<std::string> Prepare(Cluster& cluster) {
  std::vector<std::string> notes;
  CompleteNamespaces(cluster);
  SortByKey(cluster.flavors);
  SortByKey(cluster.cohorts);
  SortByKey(cluster.cluster_queues);
  SortByKey(cluster.local_queues);
  SortByKey(cluster.namespaces);
  for (api::ClusterQueue& queue : cluster.cluster_queues) {
    if (queue.spec.admission_checks.empty()) continue;
    queue.spec.admission_checks.clear();
    notes.push_back("ClusterQueue " + queue.meta.name +
                    ": its admission checks count as Ready at once");
  }
  for (api::ResourceFlavor& flavor : cluster.flavors) {
    if (flavor.topology_name.empty() || HasTopology(cluster, flavor.topology_name)) continue;
    flavor.topology_name.clear();
    notes.push_back("ResourceFlavor " + flavor.meta.name +
                    ": its topology is left out, quota alone decides");
  }
  return notes;
}

}  // namespace berth::simulation

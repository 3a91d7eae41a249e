// view/screens/topology.h — the nodes of a cluster by their racks and blocks, the Workloads on
// them, their free resources, and the domains in which waiting gangs would fit.
//
//     nodes, pods, Topologies, Workloads ─▶ room of each node ─▶ room of each domain ─▶ gangs
//
// Room is counted from requests and labels: taints, affinities and the flavors that a queue offers
// are left out, so that a gang that fits here may still be refused.
//
// Where the reader may not list all pods, the use of a node is the use of the Workloads that a
// topology has assigned to the node.
//
// Pure: data in, JSON out.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "api/pod.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"
#include "view/screens/cluster_view.h"

namespace berth::view {

inline constexpr std::size_t kMostTopologyNodes = 5'000;
inline constexpr std::size_t kMostGangs = 50;

struct TopologyInput {
  WallTime now{};
  std::vector<api::Topology> topologies;
  std::vector<std::shared_ptr<const api::Node>> nodes;
  std::vector<std::shared_ptr<const api::Pod>> pods;
  bool has_all_pods = false;  // `pods` has the pods of all namespaces
  std::vector<std::shared_ptr<const api::Workload>> workloads;  // the Workloads of all namespaces
  // Whether the reader may know the names of a namespace; other names are replaced by numbers.
  std::function<bool(const std::string& namespace_name)> may_name;
  std::vector<std::string> hidden;  // kinds that the reader may not list
  ClusterView queues;               // LocalQueues and ClusterQueues, for reasons
};

// Keys: time, hidden, nodesLeftOut, topologies [{name, levels, free [{resource, unit, free,
// onWholeNodes, largest [{level, amount}]}]}], nodes [{name, ready, schedulable, pool, topology,
// domain, resources
// [{resource, unit, allocatable, used}], workloads [{id, name, pods}], others}], gangs [{id,
// podSet, pods, level, mode, fits, domains [{topology, domain, pods}], cause, remark}],
// gangsLeftOut.
nlohmann::json TopologyJson(const TopologyInput& input);

}  // namespace berth::view

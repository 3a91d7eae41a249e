// simulation/nodes.h — pools of nodes that grow with pods and shrink when nodes are idle.
//
// The pods of a job go to nodes in the order of their making, or one by one to the node with the
// fewest pods, then to new nodes, pool by pool; either all pods are placed, or none is. A new node
// is ready after its pool's boot time. A node without pods goes after its pool's idle time, unless
// the pool would fall below its least number of nodes.
//
// Pods fit by requests, node labels and taints alone: no affinity, no topology, no limit of stock
// but the pool's greatest number of nodes, no machine that fails or is taken back.
//
// Units: amounts as in api/quantity.h. Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/pod.h"
#include "base/clock.h"

namespace berth::simulation {

struct NodePool {
  std::string name;
  api::Node node;  // labels, taints and allocatable amounts of each node
  std::int64_t min_nodes = 0;
  std::int64_t max_nodes = 0;
  Duration boot{};
  std::vector<Duration> boots;  // not empty: each new node takes one of these, by its number
  Duration idle{};
  // Machines of low priority: the cloud takes each back, by its time since it was ready.
  double evictions_per_hour = 0;          // expected, of one node, at a constant rate; 0: none
  std::optional<Duration> evicted_after;  // every node is taken back at this age at the latest
  double price_per_hour = 0;              // USD for one node, while it is there
  bool is_node = false;  // one node, named as the pool, that was there before the run
};

// The nodes that pods go to first: those that were made first, or those with the fewest pods, as
// kube-scheduler's score LeastAllocated prefers.
enum class PodPlacement : std::uint8_t { kPack, kSpread };

// The demands of pods on nodes.
struct PodNeeds {
  const api::ResourceAmounts* requests = nullptr;  // what one pod requests
  api::StringMap node_labels;
  std::vector<api::Toleration> tolerations;
};

struct PoolUse {
  std::string name;
  std::int64_t peak = 0;  // nodes at one time
  Duration node_time{};   // time of all nodes, boots and idle times included
  Duration busy_time{};   // time of nodes with at least one pod
  double price_per_hour = 0;
};

using NodeId = std::int64_t;

// Times are from the `start` of Nodes.
struct NodeLife {
  NodeId node = 0;
  std::size_t pool = 0;  // index in the pools
  Duration made{};       // the boot begins
  Duration ready{};
  Duration gone{};
};

// "POOL-NUMBER"; for a pool that is one node, the pool's name.
std::string NodeName(const std::vector<NodePool>& pools, const NodeLife& life);

class Nodes {
 public:
  struct Placement {
    std::vector<std::pair<NodeId, std::int64_t>> pods;  // the number of pods of each node
    WallTime ready{};                                   // when the last node is ready
    Duration boot{};                                    // from the placement to `ready`
  };

  // The least nodes of each pool are ready at `start`. Times never go back.
  Nodes(const std::vector<NodePool>& pools, WallTime start,
        PodPlacement order = PodPlacement::kPack);

  // nullopt: no room for all pods at present; nothing changes.
  std::optional<Placement> Place(const PodNeeds& needs, std::int64_t pods, WallTime now);
  void Free(const Placement& placement, const api::ResourceAmounts& requests, WallTime now);

  // When the cloud takes the node back; nullopt: never, or the node is gone.
  std::optional<WallTime> EvictionOf(NodeId node) const;
  // Nodes without pods go when their idle time is over, if their pool has more than its least
  // nodes, and when the cloud takes them back; then a new node boots if the pool has fewer than its
  // least number of nodes. Place and UseUntil call this function.
  void RemoveDue(WallTime now);

  // Counts until `end`; nodes that are idle then count until their idle time is over.
  std::vector<PoolUse> UseUntil(WallTime end);
  // The lives of nodes that are gone, in the order of their ends; after UseUntil, of all nodes.
  const std::vector<NodeLife>& lives() const { return lives_; }

 private:
  struct OneNode {
    std::size_t pool = 0;
    api::ResourceAmounts free;
    WallTime made{};
    WallTime ready{};
    std::optional<WallTime> evicted;  // nullopt: never
    std::int64_t pods = 0;
    WallTime since{};  // when the first pod came, or when the node became empty
  };

  NodeId Make(std::size_t pool, WallTime now, WallTime ready);
  Duration BootOf(const NodePool& pool) const;  // how long the next node boots
  // How long the next node lives, once it is ready.
  std::optional<Duration> LifeOf(const NodePool& pool) const;
  void RemoveIfDue(NodeId id, const OneNode& node, WallTime now);
  void Evict(NodeId node, WallTime at);
  // Adds nodes that exist to `placement`; returns the pods that find no place there.
  std::int64_t PlaceOnNodes(const PodNeeds& needs, std::int64_t pods,
                            const std::vector<bool>& suits, Placement& placement) const;
  std::int64_t SpreadOnNodes(const PodNeeds& needs, std::int64_t pods,
                             const std::vector<bool>& suits, Placement& placement) const;
  void Count(NodeId id, const OneNode& node, WallTime end);
  bool Suits(const NodePool& pool, const PodNeeds& needs) const;

  std::vector<NodePool> pools_;
  PodPlacement order_ = PodPlacement::kPack;
  WallTime start_;
  std::vector<PoolUse> use_;
  std::vector<NodeLife> lives_;
  std::vector<std::int64_t> counts_;  // nodes of each pool
  std::map<NodeId, OneNode> nodes_;
  NodeId next_ = 0;
};

}  // namespace berth::simulation

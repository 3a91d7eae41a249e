// admission/topology/topology_tree.h — the domains of one flavor's topology, and the free amounts
// of their nodes. Updated incrementally: a change costs the domains that it touches.
//
//     level 0   block            a leaf is a domain of the lowest level: one node where that is
//     level 1     rack           kubernetes.io/hostname, else all nodes with the same labels
//     level 2       hostname     free = allocatable - pods outside assignments - assumed
//
// A domain is live while it has nodes. Its number never changes, not even while the domain is dead;
// the owner rebuilds trees with many dead domains. A journal notes each change of a leaf, so that
// caches of counts per domain (CountView) recompute those leaves only.
//
// Threads: one. Errors: none. Units: amounts, by number of the resource; ranks order the domains of
// a level by their values.
// Source: Kueue KEP-2724, pkg/cache/scheduler/tas_topology_tree.go.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>  // lookup only
#include <vector>

#include "api/pod.h"
#include "queue/workload_info.h"

namespace berth::admission {

using queue::ResourceId;
using queue::ResourceRequest;

using DomainId = std::int32_t;
inline constexpr DomainId kNoDomain = -1;

// The facts of one node that placement reads.
struct NodeFacts {
  std::string name;
  api::StringMap labels;
  std::vector<api::Taint> taints;         // only those with effect NoSchedule or NoExecute
  std::vector<ResourceRequest> capacity;  // allocatable less pods outside assignments
  friend bool operator==(const NodeFacts&, const NodeFacts&) = default;
};

// The key of a leaf in bookings: its values joined by ',', or the hostname alone.
std::string LeafKey(const std::vector<std::string>& values);

class TopologyTree {
 public:
  struct Domain {
    DomainId parent = kNoDomain;
    std::int32_t level = 0;
    std::int32_t leaf = -1;  // number of the leaf; -1: the domain has children
    std::int32_t live = 0;   // nodes of a leaf, else live children
    std::int64_t rank = 0;
    std::vector<std::string> values;  // from level 0 to the domain's level
    std::vector<DomainId> children;   // dead children too
  };

  TopologyTree(std::string name, std::vector<std::string> levels);

  const std::string& name() const { return name_; }  // name of the Topology
  const std::vector<std::string>& levels() const { return levels_; }
  std::int32_t level_count() const { return static_cast<std::int32_t>(levels_.size()); }
  std::optional<std::int32_t> LevelOf(const std::string& label) const;
  bool lowest_is_hostname() const { return lowest_is_hostname_; }

  // `node` has labels of all levels, and lives until RemoveNode. Returns the leaf joined or left.
  DomainId AddNode(const NodeFacts& node);
  DomainId RemoveNode(const NodeFacts& node);
  // The nodes of a hostname leaf: one, or several that bear the same label. None: the leaf is of
  // another level, or dead.
  std::span<const NodeFacts* const> NodesAt(std::int32_t leaf) const;

  std::int32_t domain_count() const { return static_cast<std::int32_t>(domains_.size()); }
  std::int32_t leaf_count() const { return static_cast<std::int32_t>(leaves_.size()); }
  std::int32_t live_leaf_count() const { return live_leaves_; }
  const Domain& domain(DomainId id) const { return domains_[static_cast<std::size_t>(id)]; }
  DomainId domain_of_leaf(std::int32_t leaf) const { return At(leaf).domain; }
  // Grows with each change of the leaf's nodes. Never 0.
  std::uint32_t node_version(std::int32_t leaf) const { return At(leaf).node_version; }
  DomainId FindLeaf(const std::string& key) const;  // kNoDomain: unknown; the leaf may be dead
  bool Below(DomainId id, DomainId ancestor) const;

  // Adds `count` times `per_pod` to the usage of assignments (negative: subtracts).
  void AddUsed(DomainId leaf, const std::vector<ResourceRequest>& per_pod, std::int64_t count);
  void SetUsed(DomainId leaf, const std::vector<ResourceRequest>& used);
  // Adds to the usage of pods placed earlier in one calculation, which `free` excludes.
  void AddAssumed(DomainId leaf, const std::vector<ResourceRequest>& per_pod, std::int64_t count);
  std::int64_t Free(std::int32_t leaf, ResourceId resource) const {
    return resource < stride_ ? free_[Cell(leaf, resource)] : 0;
  }
  std::int64_t Used(std::int32_t leaf, ResourceId resource) const {
    return resource < stride_ ? used_[Cell(leaf, resource)] : 0;
  }
  std::int32_t resource_count() const { return stride_; }

  // Leaves changed since `position`, possibly repeated; nullopt: the journal begins later.
  std::uint64_t position() const { return journal_start_ + journal_.size(); }
  std::optional<std::span<const std::int32_t>> ChangesSince(std::uint64_t position) const;

 private:
  struct Leaf {
    DomainId domain = kNoDomain;
    std::vector<const NodeFacts*> nodes;  // by name
    std::uint32_t node_version = 1;
  };

  const Leaf& At(std::int32_t leaf) const { return leaves_[static_cast<std::size_t>(leaf)]; }
  std::size_t Cell(std::int32_t leaf, ResourceId resource) const {
    return static_cast<std::size_t>(leaf) * static_cast<std::size_t>(stride_) +
           static_cast<std::size_t>(resource);
  }
  DomainId MakeDomain(const std::vector<std::string>& values);
  std::int64_t NewRank(std::int32_t level, const std::vector<std::string>& values);
  void Widen(ResourceId resource);
  void AddCapacity(std::int32_t leaf, const std::vector<ResourceRequest>& capacity,
                   std::int64_t times);
  void ChangeLive(DomainId leaf, std::int32_t by);
  void Note(std::int32_t leaf);

  std::string name_;
  std::vector<std::string> levels_;
  bool lowest_is_hostname_ = false;
  std::vector<Domain> domains_;
  std::vector<Leaf> leaves_;
  std::int32_t live_leaves_ = 0;
  std::vector<std::map<std::vector<std::string>, DomainId>> by_values_;  // by level
  std::unordered_map<std::string, DomainId> leaf_by_key_;                // looked up, never walked
  std::int32_t stride_ = 0;                                              // resources per leaf
  std::vector<std::int64_t> free_;                                       // by leaf, then resource
  std::vector<std::int64_t> used_;
  std::vector<std::int32_t> journal_;
  std::uint64_t journal_start_ = 0;
};

}  // namespace berth::admission

// admission/topology/count_view.h — how many pods of one shape fit into each domain of a tree.
//
// Per leaf: the pods that what is left has room for, whole slices of them, and whether a leader
// fits beside them. Per domain above: the sums, where
//   * slices are formed at the slice level (a slice stays in one domain of that level), and inner
//     layers let a domain of their levels give only multiples of their size;
//   * room "with a leader" is the room less what the leader costs in the child where it costs
//   least.
// Refresh looks at the leaves that have changed since the last one and at the domains above them.
// ByCapacity keeps the domains of a level in the order they are tried.
//
// Threads: one. Errors: none. Units: pods and slices.
// Source: Kueue KEP-2724, pkg/cache/scheduler/tas_flavor_snapshot.go (phase 1).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/topology/topology_tree.h"
#include "queue/names.h"

namespace berth::admission {

// Which nodes pods may go to. Only asked where the lowest level is the hostname.
struct NodeFilter {
  api::StringMap selector;
  std::vector<api::Toleration> tolerations;  // of the pods and of the flavor
  std::optional<std::vector<api::NodeSelectorTerm>> affinity;
  friend bool operator==(const NodeFilter&, const NodeFilter&) = default;
};

// What the numbers depend on beside the tree.
struct CountKey {
  enum class Usage : std::uint8_t { kAsUsed, kEmpty };          // kEmpty: as if no workload ran
  enum class Order : std::uint8_t { kMostFirst, kLeastFirst };  // of room, within a level
  std::vector<ResourceRequest> pod;  // one pod, itself included, by name of the resource; no zeros
  std::optional<std::vector<ResourceRequest>> leader;
  NodeFilter filter;
  std::int32_t slice_size = 1;
  std::int32_t slice_level = 0;
  std::vector<std::int32_t> inner_sizes;  // by level; 0: none
  DomainId only_below = kNoDomain;        // everything else has no room
  Usage usage = Usage::kAsUsed;
  Order order = Order::kMostFirst;
  friend bool operator==(const CountKey&, const CountKey&) = default;
};

struct DomainCounts {
  std::int32_t pods = 0;
  std::int32_t slices = 0;
  std::int32_t pods_with_leader = 0;  // without a leader in the shape: as pods, slices
  std::int32_t slices_with_leader = 0;
  std::int32_t leaders = 0;  // 0 or 1
  friend bool operator==(const DomainCounts&, const DomainCounts&) = default;
};

class CountView {
 public:
  // Both outlive the view.
  CountView(const TopologyTree& tree, const queue::Names& resources, CountKey shape);

  const CountKey& shape() const { return shape_; }
  const TopologyTree& tree() const { return tree_; }

  // Brings the numbers up to date; what follows speaks of the last Refresh.
  void Refresh();

  bool present(DomainId id) const { return present_[static_cast<std::size_t>(id)] != 0; }
  const DomainCounts& at(DomainId id) const { return counts_[static_cast<std::size_t>(id)]; }

  // The living domains of a level: with room for a leader first, then by slices with a leader (most
  // or least first), then fewest pods, then by values.
  struct Ordering {
    std::vector<DomainId> domains;
    std::int64_t slices = 0;  // of all
  };
  const Ordering& ByCapacity(std::int32_t level);
  bool Before(DomainId a, DomainId b) const;  // in that order

  // ". Total nodes: N; excluded: …" or "": why leaves have no room at all.
  std::string Exclusions() const;

 private:
  struct LevelOrder {
    bool kept = false;
    Ordering ordering;
  };
  struct Match {
    std::uint32_t node_version = 0;  // 0: never looked
    std::int32_t reason = -1;        // why the node is out of question; -1: it is not
  };

  void Grow();
  void RebuildAll();
  DomainCounts CountLeaf(std::int32_t leaf, std::int32_t& reason);
  DomainCounts CountParent(const TopologyTree::Domain& domain) const;
  void SetReason(std::int32_t leaf, std::int32_t reason);
  std::int32_t MatchNode(std::int32_t leaf);
  std::int32_t ReasonNumber(const std::string& text);
  // Stores numbers and presence, and keeps the order of the level; whether anything changed.
  bool Store(DomainId id, const DomainCounts& counts, bool present);
  std::vector<DomainId>::iterator PlaceOf(LevelOrder& order, DomainId id);
  void Lift(std::vector<DomainId>& changed);

  const TopologyTree& tree_;
  const queue::Names& resources_;
  CountKey shape_;
  bool built_ = false;
  std::uint64_t position_ = 0;
  std::vector<DomainCounts> counts_;  // by domain
  std::vector<std::uint8_t> present_;
  std::vector<LevelOrder> orders_;  // by level
  std::vector<Match> matches_;      // by leaf
  std::vector<std::int32_t> reasons_;
  std::vector<std::string> reason_texts_;
  std::vector<std::int64_t> reason_counts_;
  std::vector<std::uint32_t> seen_;  // by domain: the round it was last put on a list in
  std::uint32_t round_ = 0;
};

}  // namespace berth::admission

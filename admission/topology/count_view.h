// admission/topology/count_view.h — the number of pods of one shape that fit each domain of a tree.
//
// Per leaf: the pods that fit the free amounts, the whole slices of those pods, and whether a
// leader fits beside them. Per domain above: the sums, where
//   * slices are formed at the slice level (a slice stays in one domain of that level), and inner
//     layers let a domain of their levels give only multiples of their size;
// * room "with a leader" is the room less the leader's cost in the child where that cost is
// least.
// The preference for a domain is the sum of its nodes' preferences, also of nodes without room.
// Where the pods ask for shares of GPUs, the free GPUs of a domain are the sum of its nodes' that
// may take the pods: among domains with equal room the one with the fewest precedes, so that GPUs
// in use are filled first.
// Refresh recomputes the leaves that changed since the last Refresh and the domains above them.
// ByCapacity returns the domains of a level in the order in which the search tries them.
//
// Threads: one. Errors: none. Units: pods and slices, millionths of a GPU.
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

// The node constraints of pods. Used only where the lowest level is the hostname.
struct NodeFilter {
  api::StringMap selector;
  std::vector<api::Toleration> tolerations;  // tolerations of the pods and of the flavor
  std::optional<std::vector<api::NodeSelectorTerm>> affinity;
  std::vector<api::PreferredNodes> preferred;
  friend bool operator==(const NodeFilter&, const NodeFilter&) = default;
};

// The parameters of the counts, beside the tree.
struct CountKey {
  enum class Usage : std::uint8_t { kAsUsed, kEmpty };          // kEmpty: no workload counts
  enum class Order : std::uint8_t { kMostFirst, kLeastFirst };  // order of room, within a level
  std::vector<ResourceRequest> pod;  // requests of one pod, `pods: 1` included; no zeros
  std::optional<std::vector<ResourceRequest>> leader;
  NodeFilter filter;
  // The resources of `pod` that are shares of GPUs, each with the number of shares that make one
  // GPU.
  std::vector<ResourceRequest> shares_per_gpu;
  std::int32_t slice_size = 1;
  std::int32_t slice_level = 0;
  std::vector<std::int32_t> inner_sizes;  // by level; 0: none
  DomainId only_below = kNoDomain;        // other domains have no room
  Usage usage = Usage::kAsUsed;
  Order order = Order::kMostFirst;
  friend bool operator==(const CountKey&, const CountKey&) = default;
};

struct DomainCounts {
  std::int32_t pods = 0;
  std::int32_t slices = 0;
  std::int32_t pods_with_leader = 0;  // equals pods where the shape has no leader
  std::int32_t slices_with_leader = 0;
  std::int32_t leaders = 0;  // 0 or 1
  friend bool operator==(const DomainCounts&, const DomainCounts&) = default;
};

class CountView {
 public:
  // `tree` and `resources` must outlive the view.
  CountView(const TopologyTree& tree, const queue::Names& resources, CountKey shape);

  const CountKey& shape() const { return shape_; }
  const TopologyTree& tree() const { return tree_; }

  // Brings the counts up to date; the other functions return the counts of the last Refresh.
  void Refresh();

  bool present(DomainId id) const { return present_[static_cast<std::size_t>(id)] != 0; }
  const DomainCounts& at(DomainId id) const { return counts_[static_cast<std::size_t>(id)]; }
  // Equal for all domains where the pods prefer no nodes.
  std::int64_t preference(DomainId id) const {
    return merits_.empty() ? 0 : merits_[static_cast<std::size_t>(id)].preference;
  }
  // Equal for all domains where the pods ask for no shares of GPUs.
  std::int64_t free_gpus(DomainId id) const {
    return merits_.empty() ? 0 : merits_[static_cast<std::size_t>(id)].free_gpus;
  }

  // The live domains of a level, ordered: with room for a leader first, then the most preferred,
  // then by slices with a leader (most or least first), then fewest pods, then fewest free GPUs,
  // then by values.
  struct Ordering {
    std::vector<DomainId> domains;
    std::int64_t slices = 0;  // slices of all domains
  };
  const Ordering& ByCapacity(std::int32_t level);
  bool Before(DomainId a, DomainId b) const;  // whether `a` is ordered before `b`

  // The reasons for which leaves have no room: ". Total nodes: N; excluded: …", or "".
  std::string Exclusions() const;

 private:
  struct LevelOrder {
    bool kept = false;
    Ordering ordering;
  };
  struct Match {
    std::uint32_t node_version = 0;  // 0: not computed yet
    std::int32_t reason = -1;        // why the node is excluded; -1: it is not
    std::int64_t preference = 0;
  };
  // The facts that order domains beside their counts.
  struct Merits {
    std::int64_t preference = 0;
    std::int64_t free_gpus = 0;
    friend bool operator==(const Merits&, const Merits&) = default;
  };
  struct LeafState {
    DomainCounts counts;
    std::int32_t reason = -1;  // why the leaf has no room; -1: no reason
    Merits merits;
  };

  void Grow();
  void RebuildAll();
  LeafState CountLeaf(std::int32_t leaf);
  DomainCounts CountParent(const TopologyTree::Domain& domain) const;
  Merits MeritsOfParent(const TopologyTree::Domain& domain) const;
  void SetReason(std::int32_t leaf, std::int32_t reason);
  const Match& MatchNode(std::int32_t leaf);
  std::int32_t ReasonNumber(const std::string& text);
  // Stores the state of a domain, and updates the level's order; returns whether the state changed.
  bool Store(DomainId id, const DomainCounts& counts, const Merits& merits, bool present);
  void SetMerits(DomainId id, const Merits& merits) {
    if (!merits_.empty()) merits_[static_cast<std::size_t>(id)] = merits;
  }
  std::vector<DomainId>::iterator PlaceOf(LevelOrder& order, DomainId id);
  void Lift(std::vector<DomainId>& changed);

  const TopologyTree& tree_;
  const queue::Names& resources_;
  CountKey shape_;
  bool built_ = false;
  std::uint64_t position_ = 0;
  std::vector<DomainCounts> counts_;  // by domain
  std::vector<Merits> merits_;        // by domain; empty where all would be equal
  std::vector<std::uint8_t> present_;
  std::vector<LevelOrder> orders_;  // by level
  std::vector<Match> matches_;      // by leaf
  std::vector<std::int32_t> reasons_;
  std::vector<std::string> reason_texts_;
  std::vector<std::int64_t> reason_counts_;
  std::vector<std::uint32_t> seen_;  // by domain: last round in which the domain was listed
  std::uint32_t round_ = 0;
};

}  // namespace berth::admission

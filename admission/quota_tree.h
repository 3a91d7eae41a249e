// admission/quota_tree.h — quota and usage of ClusterQueues and cohorts, as a forest.
//
// For node n and flavor-resource fr (a number; the owner knows which), all sums saturating:
//
//     local(n)      = lending limit set ? max(0, Subtree(n) - lending limit) : 0    kept for itself
//     Subtree(leaf) = nominal;  Subtree(cohort) = nominal + sum over children (Subtree - local)
//     usage(cohort) = sum over children max(0, usage - local)
//     available(root) = Subtree - usage
//     available(n)    = max(0, local - usage) + P, P = available(parent); with a borrowing limit
//                       P = min(P, Subtree - local - max(0, usage - local) + borrowing limit)
//     potential(root) = Subtree
//     potential(n)    = min(Subtree + borrowing limit if set, local + potential(parent))
//
// `available` may come out negative after quota was cut; a leaf then has 0 to give. Adding usage
// touches the path to the root and nothing else. What-if: Mark, add and remove, RollBack to the
// mark; every cell is then bit by bit what it was. Cost of a what-if: what it changed.
//
// A node in or below a cycle of parents has no root: InCycle says so, and nothing but its own usage
// may be asked of it.
//
// Units: amounts of the resource's smallest unit.
// Threads: one. Errors: none; preconditions are asserted.
// Source: Kueue KEP-79 (hierarchical cohorts), pkg/cache/scheduler/resource_node.go.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "api/quantity.h"
#include "base/small_vector.h"

namespace berth::admission {

using api::Amount;
using NodeId = std::int32_t;
using FlavorResourceId = std::int32_t;
inline constexpr NodeId kNoQuotaNode = -1;

struct FlavorResourceAmount {
  FlavorResourceId flavor_resource = 0;
  Amount amount = 0;
  friend bool operator==(const FlavorResourceAmount&, const FlavorResourceAmount&) = default;
};
using Usage = SmallVector<FlavorResourceAmount, 2>;  // each flavor-resource once

struct Quota {
  FlavorResourceId flavor_resource = 0;
  Amount nominal = 0;
  std::optional<Amount> borrowing_limit;
  std::optional<Amount> lending_limit;
  friend bool operator==(const Quota&, const Quota&) = default;
};

class QuotaTree {
 public:
  enum class Kind : std::uint8_t { kLeaf, kCohort };  // a ClusterQueue, or above some

  // Nodes. Changing parents or quotas makes the numbers of the trees concerned stale until Rebuild.
  NodeId AddNode(Kind kind);
  void RemoveNode(NodeId node);                // childless; its number is reused
  void SetParent(NodeId node, NodeId parent);  // kNoQuotaNode: a root
  void SetQuotas(NodeId node, const std::vector<Quota>& quotas);
  // Whether the node gives heads; only such leaves count in Height.
  void SetActiveLeaf(NodeId node, bool active);

  // Recomputes subtree quotas, usage of cohorts, potentials and heights of the tree of `node`.
  // Nothing happens for a node in a cycle.
  void Rebuild(NodeId node);

  NodeId parent(NodeId node) const { return parents_[static_cast<std::size_t>(node)]; }
  const std::vector<NodeId>& children(NodeId node) const { return at(node).children; }
  NodeId Root(NodeId node) const;
  bool InCycle(NodeId node) const { return has_cycles_ && at(node).cyclic; }
  // 0 for a leaf, else the distance to the furthest node below that counts.
  std::int32_t Height(NodeId node) const { return at(node).height; }

  Amount Nominal(NodeId node, FlavorResourceId fr) const { return Get(node, fr).nominal; }
  Amount SubtreeQuota(NodeId node, FlavorResourceId fr) const { return Get(node, fr).subtree; }
  Amount UsageOf(NodeId node, FlavorResourceId fr) const { return Get(node, fr).usage; }
  // What a leaf could take now, never below 0.
  Amount Available(NodeId leaf, FlavorResourceId fr) const {
    const Amount available = AvailableAt(leaf, fr);
    return available < 0 ? 0 : available;
  }
  Amount Potential(NodeId node, FlavorResourceId fr) const;
  Amount LocalAvailable(NodeId node, FlavorResourceId fr) const;
  std::optional<Amount> BorrowingLimit(NodeId node, FlavorResourceId fr) const;
  // Usage would exceed (is above) what the subtree of the node has.
  bool BorrowingWith(NodeId node, FlavorResourceId fr, Amount more) const {
    const Cell& cell = Get(node, fr);
    return api::AddAmounts(cell.usage, more) > cell.subtree;
  }
  bool Borrowing(NodeId node, FlavorResourceId fr) const { return BorrowingWith(node, fr, 0); }

  // Height of the smallest subtree around leaf `node` that has `amount` of fr without borrowing;
  // and whether that subtree is not the whole tree.
  struct Lender {
    std::int32_t height = 0;
    bool below_root = false;
  };
  Lender LowestSubtreeThatFits(NodeId node, FlavorResourceId fr, Amount amount) const;

  // Of a leaf; `usage` in amounts of each flavor-resource.
  void AddUsage(NodeId leaf, const Usage& usage);
  void RemoveUsage(NodeId leaf, const Usage& usage);
  bool Fits(NodeId leaf, const Usage& usage) const;

  // What-ifs nest. RollBack undoes every change of usage since its mark. Nodes and quotas must not
  // change while a mark is open.
  struct Mark {
    std::size_t journal_size = 0;
    std::uint64_t version = 0;
  };
  Mark Begin();
  void RollBack(const Mark& mark);
  bool simulating() const { return open_marks_ > 0; }

  // Flavor-resources that occur in the subtree quota of the node.
  const std::vector<FlavorResourceId>& Declared(NodeId node) const { return at(node).declared; }
  FlavorResourceId flavor_resource_count() const { return flavor_resource_count_; }
  // Equal versions mean equal numbers; rolling back restores the version too.
  std::uint64_t version() const { return version_; }
  // The same for the usage of one node.
  std::uint64_t usage_version(NodeId node) const {
    return usage_versions_[static_cast<std::size_t>(node)];
  }
  // Grows with every Rebuild: what does not depend on usage may be kept until then. Never 0.
  std::uint64_t build() const { return build_; }

 private:
  static constexpr Amount kNoLimit = INT64_MAX;
  struct Cell {
    Amount usage = 0;
    Amount subtree = 0;
    Amount local = 0;
    Amount borrowing_limit = kNoLimit;
    Amount nominal = 0;
    Amount potential = 0;
  };
  struct Node {
    std::int32_t height = 0;
    Kind kind = Kind::kLeaf;
    bool used = false;
    bool cyclic = false;
    bool leaf_active = true;
    std::vector<NodeId> children;
    std::vector<Quota> quotas;
    std::vector<FlavorResourceId> declared;  // sorted
  };
  struct Change {
    NodeId node;
    FlavorResourceId flavor_resource;
    Amount usage_before;
    std::uint64_t version_before;
  };

  Node& at(NodeId node) { return nodes_[static_cast<std::size_t>(node)]; }
  const Node& at(NodeId node) const { return nodes_[static_cast<std::size_t>(node)]; }
  const Cell& Get(NodeId node, FlavorResourceId fr) const {
    return fr < flavor_resource_count_ ? cells_[CellIndex(node, fr)] : empty_;
  }
  std::size_t CellIndex(NodeId node, FlavorResourceId fr) const {
    return static_cast<std::size_t>(node) * static_cast<std::size_t>(flavor_resource_count_) +
           static_cast<std::size_t>(fr);
  }
  Cell& Make(NodeId node, FlavorResourceId fr) {
    if (fr >= flavor_resource_count_) Widen(fr + 1);
    return cells_[CellIndex(node, fr)];
  }
  void Widen(FlavorResourceId count);
  void SetUsage(NodeId node, FlavorResourceId fr, Cell& cell, Amount usage);
  void Add(NodeId node, FlavorResourceId fr, Amount amount);
  void Subtract(NodeId node, FlavorResourceId fr, Amount amount);
  void Accumulate(NodeId node);
  void SpreadPotential(NodeId node);
  Amount AvailableAt(NodeId node, FlavorResourceId fr) const;
  bool FindCycle(NodeId node) const;
  void Touch() { version_ = ++last_version_; }

  std::vector<Node> nodes_;
  // What every decision reads lies side by side, not in the nodes.
  std::vector<NodeId> parents_;
  std::vector<Cell> cells_;  // by node, then flavor-resource
  std::vector<std::uint64_t> usage_versions_;
  std::vector<NodeId> free_;
  std::vector<Change> journal_;
  int open_marks_ = 0;
  FlavorResourceId flavor_resource_count_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t last_version_ = 0;
  std::uint64_t build_ = 1;
  bool has_cycles_ = false;
  Cell empty_;
};

}  // namespace berth::admission

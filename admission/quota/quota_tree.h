// admission/quota/quota_tree.h — quota and usage of ClusterQueues and cohorts, as a forest.
//
// For node n and flavor-resource fr (a number that the owner assigns), all sums saturating:
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
// `available` is negative after quota was cut below usage; Available of a leaf then returns 0.
//
// Every change takes effect at once. A change of usage, of quota or of a leaf's activity costs the
// path to the root; a node that moves costs both paths for each flavor-resource that the node or a
// node below mentions. A node has cells only for these flavor-resources
// (admission/quota/quota_cells.h). Potentials are computed on demand, because a change at the root
// changes the potentials of all nodes below. What-if: Begin returns a mark; after additions and
// removals of usage, RollBack to the mark restores every amount exactly. The cost of a what-if is
// the number of its changes.
//
// A node in or below a cycle of parents has no root: InCycle returns true, and only the node's own
// usage may be read. A tree whose cycle is broken is summed up again.
//
// Units: amounts of the resource's smallest unit.
// Threads: one. Errors: none; preconditions are asserted.
// Source: Kueue KEP-79 (hierarchical cohorts), pkg/cache/scheduler/resource_node.go.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "admission/quota/quota_cells.h"
#include "api/quantity.h"
#include "base/small_vector.h"

namespace berth::admission {

using NodeId = std::int32_t;
inline constexpr NodeId kNoQuotaNode = -1;

struct FlavorResourceAmount {
  FlavorResourceId flavor_resource = 0;
  Amount amount = 0;
  friend bool operator==(const FlavorResourceAmount&, const FlavorResourceAmount&) = default;
};
using Usage = SmallVector<FlavorResourceAmount, 2>;  // no flavor-resource twice
void AddTo(Usage& usage, FlavorResourceId fr, Amount amount);
Amount AmountOf(const Usage& usage, FlavorResourceId fr);  // 0: the usage has none

struct Quota {
  FlavorResourceId flavor_resource = 0;
  Amount nominal = 0;
  std::optional<Amount> borrowing_limit;
  std::optional<Amount> lending_limit;
  friend bool operator==(const Quota&, const Quota&) = default;
};

class QuotaTree {
 public:
  enum class Kind : std::uint8_t { kLeaf, kCohort };  // a ClusterQueue; a parent of nodes

  NodeId AddNode(Kind kind);
  void RemoveNode(NodeId node);                // node without children; the number is reused
  void SetParent(NodeId node, NodeId parent);  // kNoQuotaNode: makes the node a root
  void SetQuotas(NodeId node, const std::vector<Quota>& quotas);
  // Sets whether the leaf gives heads; only such leaves count in Height.
  void SetActiveLeaf(NodeId node, bool active);
  // Notes a change outside the tree that decisions depend on: caches of every version and build
  // become invalid.
  void NoteChange() {
    Touch();
    ++build_;
  }

  NodeId parent(NodeId node) const { return at(node).parent; }
  // The children in the order of insertion.
  const std::vector<NodeId>& children(NodeId node) const { return structure(node).children; }
  NodeId Root(NodeId node) const;
  bool InCycle(NodeId node) const { return cyclic_nodes_ > 0 && structure(node).cyclic; }
  bool has_cycles() const { return cyclic_nodes_ > 0; }
  // 0 for a leaf, else the distance to the furthest active leaf below.
  std::int32_t Height(NodeId node) const { return at(node).height; }

  // The amounts of a flavor-resource at a node; all are 0 where the node has no cell. Valid until
  // the next change of the tree.
  const QuotaCell& AmountsOf(NodeId node, FlavorResourceId fr) const {
    const QuotaCell* cell = at(node).cells.Find(fr);
    return cell != nullptr ? *cell : empty_;
  }
  // The amount that a leaf could take now, at least 0.
  Amount Available(NodeId leaf, FlavorResourceId fr) const {
    const Amount available = AvailableAt(leaf, fr);
    return available < 0 ? 0 : available;
  }
  Amount Potential(NodeId node, FlavorResourceId fr) const;

  // Changes the usage of a leaf by `usage`.
  void AddUsage(NodeId leaf, const Usage& usage);
  void RemoveUsage(NodeId leaf, const Usage& usage);

  // What-ifs nest. RollBack undoes every change of usage since the mark. Nodes and quotas must not
  // change while a mark is open.
  struct Mark {
    std::size_t journal_size = 0;
    std::uint64_t version = 0;
  };
  Mark Begin();
  void RollBack(const Mark& mark);
  bool simulating() const { return open_marks_ > 0; }

  // Calls visit(FlavorResourceId, usage, subtree quota) in the order of numbers, for each
  // flavor-resource that the node or a node below has quota for.
  template <typename Visit>
  void ForEachDeclared(NodeId node, Visit visit) const {
    at(node).cells.ForEach([&visit](FlavorResourceId fr, const QuotaCell& cell) {
      if (cell.mentions > 0) visit(fr, cell.usage, cell.subtree);
    });
  }
  // Equal versions mean equal amounts in the whole tree; RollBack restores the version too.
  std::uint64_t version() const { return version_; }
  // The version of the usage of one node.
  std::uint64_t usage_version(NodeId node) const {
    return usage_versions_[static_cast<std::size_t>(node)];
  }
  // Grows with every change other than of usage: a result that does not depend on usage is valid
  // while the build is the same. Never 0.
  std::uint64_t build() const { return build_; }

  // The quota changes of the tree below a root: the flavor-resources whose quota or limits changed
  // at some node, or came or went with a node, possibly repeated. The list only grows within an
  // epoch; a new epoch means that every quota may have changed. Never 0.
  struct QuotaChanges {
    std::uint64_t epoch = 0;
    const std::vector<FlavorResourceId>* flavor_resources;  // never null
  };
  QuotaChanges quota_changes(NodeId root) const {
    return {structure(root).quota_epoch, &structure(root).quota_changes};
  }

 private:
  // The part of a node that every decision reads: one cache line.
  struct alignas(64) Node {
    QuotaCells cells;
    NodeId parent = kNoQuotaNode;
    std::int32_t height = 0;
  };
  // The rest of a node.
  struct Structure {
    Kind kind = Kind::kLeaf;
    bool used = false;
    bool cyclic = false;
    bool leaf_active = true;
    std::vector<NodeId> children;
    std::vector<Quota> quotas;
    // Height given to this node → number of children: 1 by an active leaf, height + 1 by a cohort.
    std::map<std::int32_t, std::int32_t> child_heights;
    std::uint64_t quota_epoch = 0;
    std::vector<FlavorResourceId> quota_changes;  // QuotaChanges of the tree, at its root
  };
  // The contribution of a node to its parent's cell.
  struct Part {
    Amount quota = 0;
    Amount usage = 0;
    bool mentioned = false;
    friend bool operator==(const Part&, const Part&) = default;
  };
  struct Change {
    NodeId node;
    FlavorResourceId flavor_resource;
    Amount usage_before;
    std::uint64_t version_before;
  };

  static_assert(sizeof(Node) == 64 && sizeof(QuotaCell) == 64);

  Node& at(NodeId node) { return nodes_[static_cast<std::size_t>(node)]; }
  const Node& at(NodeId node) const { return nodes_[static_cast<std::size_t>(node)]; }
  Structure& structure(NodeId node) { return structures_[static_cast<std::size_t>(node)]; }
  const Structure& structure(NodeId node) const {
    return structures_[static_cast<std::size_t>(node)];
  }
  static Part PartOf(const QuotaCell& cell);
  // Updates `fr` from `node` up, after a child's contribution changed.
  void Shift(NodeId node, FlavorResourceId fr, Part before, Part after);
  void Sum(NodeId node, FlavorResourceId fr, QuotaCell& cell) const;
  void SetQuota(NodeId node, FlavorResourceId fr, const Quota* quota);
  void Attach(NodeId node, NodeId parent);
  void Detach(NodeId node);
  // Updates heights: a child of `node` gave height `before` and gives `after`; 0: gives none.
  void ShiftHeight(NodeId node, std::int32_t before, std::int32_t after);
  std::int32_t HeightPart(NodeId node) const;
  // The node and all nodes below, parents before children.
  std::vector<NodeId> Below(NodeId node) const;
  void MarkCyclic(NodeId node, bool cyclic);
  void SumUp(NodeId root);
  void NoteQuota(NodeId root, FlavorResourceId fr);
  void NoteAllQuotas(NodeId root);
  void HealUsage(NodeId node);
  void SetUsage(NodeId node, FlavorResourceId fr, QuotaCell& cell, Amount usage);
  void Add(NodeId node, FlavorResourceId fr, Amount amount);
  void Subtract(NodeId node, FlavorResourceId fr, Amount amount);
  Amount AvailableAt(NodeId node, FlavorResourceId fr) const;
  void Touch() { version_ = ++last_version_; }

  std::vector<Node> nodes_;
  std::vector<Structure> structures_;
  std::vector<std::uint64_t> usage_versions_;
  std::vector<NodeId> free_;
  std::vector<Change> journal_;
  int open_marks_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t last_version_ = 0;
  std::uint64_t build_ = 1;
  std::uint64_t last_quota_epoch_ = 0;
  std::int64_t cyclic_nodes_ = 0;
  bool usage_cut_off_ = false;  // some usage has exceeded the range of Amount
  QuotaCell empty_;
};

}  // namespace berth::admission

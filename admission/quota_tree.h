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
// `available` may come out negative after quota was cut; a leaf then has 0 to give.
//
// Every change holds at once. A change of usage, of quota or of a leaf's activity costs its path to
// the root; a node that moves costs both of its paths for each flavor-resource that the node or a
// node below mentions. A node has cells only for those (admission/quota_cells.h). Potentials are
// computed when they are asked for, because a change at the root changes those of all nodes below.
// What-if: Mark, add and remove, RollBack to the mark; every amount is then bit by bit what it was.
// Cost of a what-if: what it changed.
//
// A node in or below a cycle of parents has no root: InCycle says so, and nothing but its own usage
// may be asked of it. A tree that becomes free of a cycle is summed up anew.
//
// Units: amounts of the resource's smallest unit.
// Threads: one. Errors: none; preconditions are asserted.
// Source: Kueue KEP-79 (hierarchical cohorts), pkg/cache/scheduler/resource_node.go.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "admission/quota_cells.h"
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

  NodeId AddNode(Kind kind);
  void RemoveNode(NodeId node);                // childless; its number is reused
  void SetParent(NodeId node, NodeId parent);  // kNoQuotaNode: a root
  void SetQuotas(NodeId node, const std::vector<Quota>& quotas);
  // Whether the node gives heads; only such leaves count in Height.
  void SetActiveLeaf(NodeId node, bool active);
  // What else decisions depend on has changed: nothing that was kept for a version or a build
  // holds.
  void NoteChange() {
    Touch();
    ++build_;
  }

  NodeId parent(NodeId node) const { return at(node).parent; }
  // In the order in which they came.
  const std::vector<NodeId>& children(NodeId node) const { return structure(node).children; }
  NodeId Root(NodeId node) const;
  bool InCycle(NodeId node) const { return cyclic_nodes_ > 0 && structure(node).cyclic; }
  bool has_cycles() const { return cyclic_nodes_ > 0; }
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
    const QuotaCell& cell = Get(node, fr);
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

  // visit(FlavorResourceId, usage, subtree quota) for each flavor-resource that the node or a node
  // below has quota for, by number.
  template <typename Visit>
  void ForEachDeclared(NodeId node, Visit visit) const {
    at(node).cells.ForEach([&visit](FlavorResourceId fr, const QuotaCell& cell) {
      if (cell.mentions > 0) visit(fr, cell.usage, cell.subtree);
    });
  }
  FlavorResourceId flavor_resource_count() const { return flavor_resource_count_; }
  // Equal versions mean equal numbers; rolling back restores the version too.
  std::uint64_t version() const { return version_; }
  // The same for the usage of one node.
  std::uint64_t usage_version(NodeId node) const {
    return usage_versions_[static_cast<std::size_t>(node)];
  }
  // Grows with every change that is not one of usage: what does not depend on usage may be kept
  // until then. Never 0.
  std::uint64_t build() const { return build_; }

  // What has happened to the quotas of the tree below a root: the flavor-resources whose quota or
  // limits changed at some node, or came and went with a node, some more than once. The list only
  // grows while the epoch stays; with another epoch everything may be different. Never 0.
  struct QuotaChanges {
    std::uint64_t epoch = 0;
    const std::vector<FlavorResourceId>* flavor_resources;  // never null
  };
  QuotaChanges quota_changes(NodeId root) const {
    return {structure(root).quota_epoch, &structure(root).quota_changes};
  }

 private:
  // What every decision reads, of one cache line.
  struct alignas(64) Node {
    QuotaCells cells;
    NodeId parent = kNoQuotaNode;
    std::int32_t height = 0;
  };
  // The rest.
  struct Structure {
    Kind kind = Kind::kLeaf;
    bool used = false;
    bool cyclic = false;
    bool leaf_active = true;
    std::vector<NodeId> children;
    std::vector<Quota> quotas;
    // How many children make the node how high: 1 for an active leaf, a cohort's height + 1.
    std::map<std::int32_t, std::int32_t> child_heights;
    std::uint64_t quota_epoch = 0;
    std::vector<FlavorResourceId> quota_changes;  // of the tree, where the node is a root
  };
  // What a node adds to the cell of its parent.
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
  const QuotaCell& Get(NodeId node, FlavorResourceId fr) const {
    const QuotaCell* cell = at(node).cells.Find(fr);
    return cell != nullptr ? *cell : empty_;
  }
  static Part PartOf(const QuotaCell& cell);
  // `fr` of the tree from `node` up, of which a child hands up another part.
  void Shift(NodeId node, FlavorResourceId fr, Part before, Part after);
  void Sum(NodeId node, FlavorResourceId fr, QuotaCell& cell) const;
  void SetQuota(NodeId node, FlavorResourceId fr, const Quota* quota);
  void Attach(NodeId node, NodeId parent);
  void Detach(NodeId node);
  // The height of a child of `node` counted `before`, and counts `after` from now on; 0: does not.
  void ShiftHeight(NodeId node, std::int32_t before, std::int32_t after);
  std::int32_t HeightPart(NodeId node) const;
  // All that `node` stands above, itself first, parents before children.
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
  FlavorResourceId flavor_resource_count_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t last_version_ = 0;
  std::uint64_t build_ = 1;
  std::uint64_t last_quota_epoch_ = 0;
  std::int64_t cyclic_nodes_ = 0;
  bool usage_cut_off_ = false;  // once, some usage was more than an Amount holds
  QuotaCell empty_;
};

}  // namespace berth::admission

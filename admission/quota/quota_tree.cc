#include "admission/quota/quota_tree.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace berth::admission {
namespace {

using api::AddAmounts;
using api::SubtractAmounts;

constexpr Amount kMost = INT64_MAX;

// `sum` with one part replaced. No part is negative; nullopt where the sum is saturated, so that
// its true value is unknown.
std::optional<Amount> Replaced(Amount sum, Amount before, Amount after) {
  if (before == after) return sum;
  if (sum == kMost) return std::nullopt;
  return AddAmounts(SubtractAmounts(sum, before), after);
}

void KeepLocal(QuotaCell& cell) {
  cell.local = 0;
  if (cell.lending_limit == QuotaCell::kNoLimit) return;
  cell.local = std::max<Amount>(0, SubtractAmounts(cell.subtree, cell.lending_limit));
}

}  // namespace

void AddTo(Usage& usage, FlavorResourceId fr, Amount amount) {
  for (FlavorResourceAmount& item : usage) {
    if (item.flavor_resource == fr) {
      item.amount = AddAmounts(item.amount, amount);
      return;
    }
  }
  usage.push_back({fr, amount});
}

Amount AmountOf(const Usage& usage, FlavorResourceId fr) {
  for (const FlavorResourceAmount& item : usage) {
    if (item.flavor_resource == fr) return item.amount;
  }
  return 0;
}

NodeId QuotaTree::AddNode(Kind kind) {
  if (free_.empty()) {
    nodes_.emplace_back();
    structures_.emplace_back();
    usage_versions_.push_back(0);
    free_.push_back(static_cast<NodeId>(nodes_.size() - 1));
  }
  const NodeId node = free_.back();
  free_.pop_back();
  structure(node).used = true;
  structure(node).kind = kind;
  NoteAllQuotas(node);
  return node;
}

void QuotaTree::RemoveNode(NodeId node) {
  BERTH_ASSERT(structure(node).used && structure(node).children.empty() && open_marks_ == 0);
  SetParent(node, kNoQuotaNode);
  NoteChange();
  at(node) = Node{};
  structure(node) = Structure{};
  free_.push_back(node);
}

NodeId QuotaTree::Root(NodeId node) const {
  BERTH_ASSERT(!InCycle(node));
  while (parent(node) != kNoQuotaNode) node = parent(node);
  return node;
}

// --- Parents.

void QuotaTree::SetParent(NodeId node, NodeId parent) {
  BERTH_ASSERT(open_marks_ == 0);
  if (this->parent(node) == parent) return;
  NoteChange();
  Detach(node);
  if (parent != kNoQuotaNode) Attach(node, parent);
  HealUsage(node);
}

void QuotaTree::Detach(NodeId node) {
  const NodeId above = parent(node);
  if (above == kNoQuotaNode) return;
  std::erase(structure(above).children, node);
  at(node).parent = kNoQuotaNode;
  if (InCycle(node)) {  // the nodes below leave the cycle, maybe others too
    MarkCyclic(node, false);
    SumUp(node);
    return;
  }
  const NodeId root = Root(above);
  at(node).cells.ForEach([&](FlavorResourceId fr, const QuotaCell& cell) {
    Shift(above, fr, PartOf(cell), {});
    if (cell.mentions > 0) NoteQuota(root, fr);
  });
  NoteAllQuotas(node);  // the node is a root
  ShiftHeight(above, HeightPart(node), 0);
  HealUsage(above);
}

void QuotaTree::Attach(NodeId node, NodeId parent) {
  at(node).parent = parent;
  structure(parent).children.push_back(node);
  bool cyclic = InCycle(parent);
  for (NodeId above = parent; !cyclic && above != kNoQuotaNode; above = this->parent(above)) {
    cyclic = above == node;
  }
  if (cyclic) return MarkCyclic(node, true);
  const NodeId root = Root(parent);
  at(node).cells.ForEach([&](FlavorResourceId fr, const QuotaCell& cell) {
    Shift(parent, fr, {}, PartOf(cell));
    if (cell.mentions > 0) NoteQuota(root, fr);
  });
  structure(node).quota_changes = {};
  ShiftHeight(parent, 0, HeightPart(node));
}

std::vector<NodeId> QuotaTree::Below(NodeId node) const {
  std::vector<NodeId> nodes{node};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::vector<NodeId>& children = structure(nodes[i]).children;
    nodes.insert(nodes.end(), children.begin(), children.end());
  }
  return nodes;
}

void QuotaTree::MarkCyclic(NodeId node, bool cyclic) {
  std::vector<NodeId> open{node};
  while (!open.empty()) {
    Structure& marked = structure(open.back());
    open.pop_back();
    if (marked.cyclic == cyclic) continue;  // visited
    marked.cyclic = cyclic;
    cyclic_nodes_ += cyclic ? 1 : -1;
    open.insert(open.end(), marked.children.begin(), marked.children.end());
  }
}

// --- Quotas, and their sums in cohorts.

void QuotaTree::SetQuotas(NodeId node, const std::vector<Quota>& quotas) {
  BERTH_ASSERT(open_marks_ == 0);
  if (structure(node).quotas == quotas) return;
  NoteChange();
  const std::vector<Quota> before = std::exchange(structure(node).quotas, quotas);
  for (const Quota& quota : before) {
    const bool stays = std::any_of(quotas.begin(), quotas.end(), [&quota](const Quota& other) {
      return other.flavor_resource == quota.flavor_resource;
    });
    if (!stays) SetQuota(node, quota.flavor_resource, nullptr);
  }
  for (const Quota& quota : quotas) {
    SetQuota(node, quota.flavor_resource, &quota);
  }
  HealUsage(node);
}

void QuotaTree::SetQuota(NodeId node, FlavorResourceId fr, const Quota* quota) {
  QuotaCell& cell = at(node).cells.Make(fr);
  const Part before = PartOf(cell);
  const Amount nominal = quota != nullptr ? quota->nominal : 0;
  const std::optional<Amount> subtree = Replaced(cell.subtree, cell.nominal, nominal);
  cell.nominal = nominal;
  if (subtree) {
    cell.subtree = *subtree;
  } else {
    Sum(node, fr, cell);
  }
  cell.mentions += (quota != nullptr ? 1 : 0) - (cell.own ? 1 : 0);
  cell.own = quota != nullptr;
  cell.borrowing_limit = QuotaCell::kNoLimit;
  cell.lending_limit = QuotaCell::kNoLimit;
  if (quota != nullptr) {
    cell.borrowing_limit = quota->borrowing_limit.value_or(QuotaCell::kNoLimit);
    cell.lending_limit = quota->lending_limit.value_or(QuotaCell::kNoLimit);
  }
  KeepLocal(cell);
  if (InCycle(node)) return;
  NoteQuota(Root(node), fr);
  Shift(parent(node), fr, before, PartOf(cell));
}

// The list stays shorter than the cost of reading all quotas of the root again.
void QuotaTree::NoteQuota(NodeId root, FlavorResourceId fr) {
  constexpr std::size_t kAlwaysKept = 64;
  std::vector<FlavorResourceId>& changes = structure(root).quota_changes;
  if (changes.size() >= at(root).cells.size() + kAlwaysKept) return NoteAllQuotas(root);
  changes.push_back(fr);
}

void QuotaTree::NoteAllQuotas(NodeId root) {
  structure(root).quota_changes.clear();
  structure(root).quota_epoch = ++last_quota_epoch_;
}

QuotaTree::Part QuotaTree::PartOf(const QuotaCell& cell) {
  return {SubtractAmounts(cell.subtree, cell.local),
          std::max<Amount>(0, SubtractAmounts(cell.usage, cell.local)), cell.mentions > 0};
}

void QuotaTree::Shift(NodeId node, FlavorResourceId fr, Part before, Part after) {
  for (; node != kNoQuotaNode && before != after; node = parent(node)) {
    QuotaCell& cell = at(node).cells.Make(fr);
    const Part mine = PartOf(cell);
    cell.mentions += (after.mentioned ? 1 : 0) - (before.mentioned ? 1 : 0);
    const std::optional<Amount> subtree = Replaced(cell.subtree, before.quota, after.quota);
    const std::optional<Amount> usage = Replaced(cell.usage, before.usage, after.usage);
    if (subtree && usage) {
      cell.subtree = *subtree;
      cell.usage = *usage;
    } else {
      Sum(node, fr, cell);
    }
    KeepLocal(cell);
    usage_versions_[static_cast<std::size_t>(node)] = version_;
    before = mine;
    after = PartOf(cell);
  }
}

void QuotaTree::Sum(NodeId node, FlavorResourceId fr, QuotaCell& cell) const {
  cell.subtree = cell.nominal;
  if (structure(node).kind == Kind::kLeaf) return;
  cell.usage = 0;
  for (const NodeId child : structure(node).children) {
    const Part part = PartOf(AmountsOf(child, fr));
    cell.subtree = AddAmounts(cell.subtree, part.quota);
    cell.usage = AddAmounts(cell.usage, part.usage);
  }
}

// Recomputes the sums of all cohorts, from the bottom.
void QuotaTree::SumUp(NodeId root) {
  NoteAllQuotas(root);
  const std::vector<NodeId> nodes = Below(root);
  for (const NodeId node : nodes) {
    const bool is_leaf = structure(node).kind == Kind::kLeaf;
    at(node).cells.ForEach([is_leaf](FlavorResourceId, QuotaCell& cell) {
      cell.subtree = cell.nominal;
      cell.mentions = cell.own ? 1 : 0;
      if (!is_leaf) cell.usage = 0;
    });
    usage_versions_[static_cast<std::size_t>(node)] = version_;
    structure(node).child_heights.clear();
    at(node).height = 0;
  }
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const NodeId node = nodes[i];
    at(node).cells.ForEach([](FlavorResourceId, QuotaCell& cell) { KeepLocal(cell); });
    if (!structure(node).child_heights.empty()) {
      at(node).height = structure(node).child_heights.rbegin()->first;
    }
    if (node == root) return;
    const NodeId above = parent(node);
    at(node).cells.ForEach([&](FlavorResourceId fr, const QuotaCell& cell) {
      const Part part = PartOf(cell);
      if (part == Part{}) return;
      QuotaCell& sum = at(above).cells.Make(fr);
      sum.subtree = AddAmounts(sum.subtree, part.quota);
      sum.usage = AddAmounts(sum.usage, part.usage);
      sum.mentions += part.mentioned ? 1 : 0;
    });
    if (const std::int32_t height = HeightPart(node); height > 0) {
      ++structure(above).child_heights[height];
    }
  }
}

// After a saturated usage the sums in cohorts may be too small: then whole trees are summed up
// again.
void QuotaTree::HealUsage(NodeId node) {
  if (usage_cut_off_ && !InCycle(node)) SumUp(Root(node));
}

// --- Heights.

void QuotaTree::SetActiveLeaf(NodeId node, bool active) {
  if (structure(node).leaf_active == active) return;
  NoteChange();
  const std::int32_t before = HeightPart(node);
  structure(node).leaf_active = active;
  if (!InCycle(node)) ShiftHeight(parent(node), before, HeightPart(node));
}

std::int32_t QuotaTree::HeightPart(NodeId node) const {
  if (structure(node).kind == Kind::kCohort) return Height(node) + 1;
  return structure(node).leaf_active ? 1 : 0;
}

void QuotaTree::ShiftHeight(NodeId node, std::int32_t before, std::int32_t after) {
  while (node != kNoQuotaNode && before != after) {
    std::map<std::int32_t, std::int32_t>& heights = structure(node).child_heights;
    if (before > 0 && --heights[before] == 0) heights.erase(before);
    if (after > 0) ++heights[after];
    before = at(node).height + 1;
    at(node).height = heights.empty() ? 0 : heights.rbegin()->first;
    after = at(node).height + 1;
    node = parent(node);
  }
}

// --- Available and potential.

namespace {

// Passes an amount from the root of a tree down to a node: applies `step` for each node on the
// path, from the root's child. The path is a list, since trees may be deeper than the stack.
template <typename Parent, typename Step>
Amount ThroughLevels(NodeId node, const Parent& parent, Amount at_root, const Step& step) {
  SmallVector<NodeId, 8> path;
  for (; parent(node) != kNoQuotaNode; node = parent(node)) path.push_back(node);
  Amount amount = at_root;
  for (std::size_t i = path.size(); i-- > 0;) amount = step(path[i], amount);
  return amount;
}

Amount AvailableThrough(const QuotaCell& cell, Amount from_parent) {
  if (cell.borrowing_limit != QuotaCell::kNoLimit) {
    const Amount stored = SubtractAmounts(cell.subtree, cell.local);
    const Amount used = std::max<Amount>(0, SubtractAmounts(cell.usage, cell.local));
    from_parent =
        std::min(from_parent, AddAmounts(SubtractAmounts(stored, used), cell.borrowing_limit));
  }
  return AddAmounts(cell.LocalAvailable(), from_parent);
}

Amount PotentialThrough(const QuotaCell& cell, Amount from_parent) {
  const Amount potential = AddAmounts(cell.local, from_parent);
  if (cell.borrowing_limit == QuotaCell::kNoLimit) return potential;
  return std::min(potential, AddAmounts(cell.subtree, cell.borrowing_limit));
}

}  // namespace

// Most parents are roots: two levels need no list.
Amount QuotaTree::AvailableAt(NodeId node, FlavorResourceId fr) const {
  const QuotaCell& cell = AmountsOf(node, fr);
  const NodeId above = parent(node);
  if (above == kNoQuotaNode) return SubtractAmounts(cell.subtree, cell.usage);
  if (parent(above) == kNoQuotaNode) {
    const QuotaCell& root = AmountsOf(above, fr);
    return AvailableThrough(cell, SubtractAmounts(root.subtree, root.usage));
  }
  const QuotaCell& root = AmountsOf(Root(above), fr);
  return ThroughLevels(
      node, [this](NodeId of) { return parent(of); }, SubtractAmounts(root.subtree, root.usage),
      [&](NodeId level, Amount amount) { return AvailableThrough(AmountsOf(level, fr), amount); });
}

Amount QuotaTree::Potential(NodeId node, FlavorResourceId fr) const {
  const QuotaCell& cell = AmountsOf(node, fr);
  const NodeId above = parent(node);
  if (above == kNoQuotaNode) return cell.subtree;
  if (parent(above) == kNoQuotaNode) return PotentialThrough(cell, AmountsOf(above, fr).subtree);
  return ThroughLevels(
      node, [this](NodeId of) { return parent(of); }, AmountsOf(Root(above), fr).subtree,
      [&](NodeId level, Amount amount) { return PotentialThrough(AmountsOf(level, fr), amount); });
}

// --- Usage.

inline void QuotaTree::SetUsage(NodeId node, FlavorResourceId fr, QuotaCell& cell, Amount usage) {
  std::uint64_t& version = usage_versions_[static_cast<std::size_t>(node)];
  if (open_marks_ > 0) {
    journal_.push_back({node, fr, cell.usage, version});
  } else if (usage == kMost) {
    usage_cut_off_ = true;
  }
  cell.usage = usage;
  version = version_;
}

void QuotaTree::Add(NodeId node, FlavorResourceId fr, Amount amount) {
  while (node != kNoQuotaNode) {
    QuotaCell& cell = at(node).cells.Make(fr);
    const Amount room = cell.LocalAvailable();
    SetUsage(node, fr, cell, AddAmounts(cell.usage, amount));
    if (amount <= room || InCycle(node)) return;
    amount = SubtractAmounts(amount, room);
    node = parent(node);
  }
}

void QuotaTree::Subtract(NodeId node, FlavorResourceId fr, Amount amount) {
  while (node != kNoQuotaNode) {
    QuotaCell& cell = at(node).cells.Make(fr);
    const Amount in_parent = SubtractAmounts(cell.usage, cell.local);
    SetUsage(node, fr, cell, SubtractAmounts(cell.usage, amount));
    if (in_parent <= 0 || InCycle(node)) return;
    amount = std::min(amount, in_parent);
    node = parent(node);
  }
}

void QuotaTree::AddUsage(NodeId leaf, const Usage& usage) {
  Touch();
  for (const FlavorResourceAmount& item : usage) Add(leaf, item.flavor_resource, item.amount);
}

void QuotaTree::RemoveUsage(NodeId leaf, const Usage& usage) {
  Touch();
  for (const FlavorResourceAmount& item : usage) Subtract(leaf, item.flavor_resource, item.amount);
}

QuotaTree::Mark QuotaTree::Begin() {
  ++open_marks_;
  return {journal_.size(), version_};
}

void QuotaTree::RollBack(const Mark& mark) {
  BERTH_ASSERT(open_marks_ > 0 && mark.journal_size <= journal_.size());
  for (; journal_.size() > mark.journal_size; journal_.pop_back()) {
    const Change& change = journal_.back();
    at(change.node).cells.Make(change.flavor_resource).usage = change.usage_before;
    usage_versions_[static_cast<std::size_t>(change.node)] = change.version_before;
  }
  version_ = mark.version;
  --open_marks_;
}

}  // namespace berth::admission

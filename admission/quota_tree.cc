#include "admission/quota_tree.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::admission {

using api::AddAmounts;
using api::SubtractAmounts;

NodeId QuotaTree::AddNode(Kind kind) {
  if (free_.empty()) {
    nodes_.emplace_back();
    free_.push_back(static_cast<NodeId>(nodes_.size() - 1));
  }
  const NodeId node = free_.back();
  free_.pop_back();
  at(node) = Node{};
  at(node).used = true;
  at(node).kind = kind;
  return node;
}

void QuotaTree::RemoveNode(NodeId node) {
  BERTH_ASSERT(at(node).used && at(node).children.empty() && open_marks_ == 0);
  SetParent(node, kNoQuotaNode);
  at(node) = Node{};
  free_.push_back(node);
}

void QuotaTree::SetParent(NodeId node, NodeId parent) {
  BERTH_ASSERT(open_marks_ == 0);
  const NodeId before = at(node).parent;
  if (before == parent) return;
  if (before != kNoQuotaNode) std::erase(at(before).children, node);
  at(node).parent = parent;
  if (parent != kNoQuotaNode) at(parent).children.push_back(node);
  if (!has_cycles_ && !FindCycle(node)) return;
  has_cycles_ = false;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].cyclic = nodes_[i].used && FindCycle(static_cast<NodeId>(i));
    has_cycles_ = has_cycles_ || nodes_[i].cyclic;
  }
}

void QuotaTree::SetQuotas(NodeId node, const std::vector<Quota>& quotas) {
  BERTH_ASSERT(open_marks_ == 0);
  at(node).quotas = quotas;
  for (const Quota& quota : quotas) {
    flavor_resource_count_ = std::max(flavor_resource_count_, quota.flavor_resource + 1);
  }
}

void QuotaTree::SetActiveLeaf(NodeId node, bool active) { at(node).leaf_active = active; }

QuotaTree::Cell& QuotaTree::Make(NodeId node, FlavorResourceId fr) {
  std::vector<Cell>& cells = at(node).cells;
  if (static_cast<std::size_t>(fr) >= cells.size()) {
    flavor_resource_count_ = std::max(flavor_resource_count_, fr + 1);
    cells.resize(static_cast<std::size_t>(flavor_resource_count_));
  }
  return cells[static_cast<std::size_t>(fr)];
}

NodeId QuotaTree::Root(NodeId node) const {
  BERTH_ASSERT(!at(node).cyclic);
  while (at(node).parent != kNoQuotaNode) node = at(node).parent;
  return node;
}

bool QuotaTree::FindCycle(NodeId node) const {
  NodeId above = node;
  for (std::size_t steps = 0; steps <= nodes_.size(); ++steps) {
    above = at(above).parent;
    if (above == kNoQuotaNode) return false;
  }
  return true;
}

void QuotaTree::Rebuild(NodeId node) {
  BERTH_ASSERT(open_marks_ == 0);
  if (InCycle(node)) return;
  Touch();
  ++build_;
  const NodeId root = Root(node);
  Accumulate(root);
  SpreadPotential(root);
}

void QuotaTree::Accumulate(NodeId node) {
  // By number: Make() may move the cells, never the nodes.
  for (Cell& cell : at(node).cells) {
    const Amount own_usage = at(node).kind == Kind::kLeaf ? cell.usage : 0;
    cell = Cell{};
    cell.usage = own_usage;
  }
  for (const Quota& quota : at(node).quotas) {
    Cell& cell = Make(node, quota.flavor_resource);
    cell.nominal = cell.subtree = quota.nominal;
    cell.borrowing_limit = quota.borrowing_limit.value_or(kNoLimit);
    cell.declared = true;
  }
  at(node).height = 0;
  for (const NodeId child : at(node).children) {
    Accumulate(child);
    const bool counts = at(child).kind == Kind::kCohort || at(child).leaf_active;
    if (counts) at(node).height = std::max(at(node).height, at(child).height + 1);
    for (std::size_t fr = 0; fr < at(child).cells.size(); ++fr) {
      const Cell from = at(child).cells[fr];
      if (!from.declared && from.usage == 0) continue;
      Cell& cell = Make(node, static_cast<FlavorResourceId>(fr));
      cell.subtree = AddAmounts(cell.subtree, SubtractAmounts(from.subtree, from.local));
      cell.usage =
          AddAmounts(cell.usage, std::max<Amount>(0, SubtractAmounts(from.usage, from.local)));
      cell.declared = cell.declared || from.declared;
    }
  }
  for (const Quota& quota : at(node).quotas) {
    if (!quota.lending_limit) continue;
    Cell& cell = Make(node, quota.flavor_resource);
    cell.local = std::max<Amount>(0, SubtractAmounts(cell.subtree, *quota.lending_limit));
  }
  at(node).declared.clear();
  for (std::size_t fr = 0; fr < at(node).cells.size(); ++fr) {
    if (at(node).cells[fr].declared) {
      at(node).declared.push_back(static_cast<FlavorResourceId>(fr));
    }
  }
}

void QuotaTree::SpreadPotential(NodeId node) {
  const NodeId parent = at(node).parent;
  if (parent != kNoQuotaNode && at(node).cells.size() < at(parent).cells.size()) {
    at(node).cells.resize(at(parent).cells.size());
  }
  for (std::size_t fr = 0; fr < at(node).cells.size(); ++fr) {
    Cell& cell = at(node).cells[fr];
    cell.potential = cell.subtree;
    if (parent == kNoQuotaNode) continue;
    const Amount above = Get(parent, static_cast<FlavorResourceId>(fr)).potential;
    cell.potential = AddAmounts(cell.local, above);
    if (cell.borrowing_limit != kNoLimit) {
      cell.potential = std::min(cell.potential, AddAmounts(cell.subtree, cell.borrowing_limit));
    }
  }
  for (const NodeId child : at(node).children) SpreadPotential(child);
}

Amount QuotaTree::LocalAvailable(NodeId node, FlavorResourceId fr) const {
  const Cell& cell = Get(node, fr);
  return std::max<Amount>(0, SubtractAmounts(cell.local, cell.usage));
}

Amount QuotaTree::AvailableAt(NodeId node, FlavorResourceId fr) const {
  const Cell& cell = Get(node, fr);
  const NodeId parent = at(node).parent;
  if (parent == kNoQuotaNode) return SubtractAmounts(cell.subtree, cell.usage);
  Amount from_parent = AvailableAt(parent, fr);
  if (cell.borrowing_limit != kNoLimit) {
    const Amount stored = SubtractAmounts(cell.subtree, cell.local);
    const Amount used = std::max<Amount>(0, SubtractAmounts(cell.usage, cell.local));
    from_parent =
        std::min(from_parent, AddAmounts(SubtractAmounts(stored, used), cell.borrowing_limit));
  }
  return AddAmounts(std::max<Amount>(0, SubtractAmounts(cell.local, cell.usage)), from_parent);
}

Amount QuotaTree::Potential(NodeId node, FlavorResourceId fr) const {
  return Get(node, fr).potential;
}

std::optional<Amount> QuotaTree::BorrowingLimit(NodeId node, FlavorResourceId fr) const {
  const Amount limit = Get(node, fr).borrowing_limit;
  if (limit == kNoLimit) return std::nullopt;
  return limit;
}

QuotaTree::Lender QuotaTree::LowestSubtreeThatFits(NodeId node, FlavorResourceId fr,
                                                   Amount amount) const {
  NodeId subtree = at(node).parent;
  if (subtree == kNoQuotaNode) return {0, false};
  if (!BorrowingWith(node, fr, amount)) return {0, true};
  Amount remaining = SubtractAmounts(amount, LocalAvailable(node, fr));
  while (true) {
    const NodeId above = at(subtree).parent;
    if (above == kNoQuotaNode || !BorrowingWith(subtree, fr, remaining)) {
      return {Height(subtree), above != kNoQuotaNode};
    }
    remaining = SubtractAmounts(remaining, LocalAvailable(subtree, fr));
    subtree = above;
  }
}

void QuotaTree::SetUsage(NodeId node, FlavorResourceId fr, Cell& cell, Amount usage) {
  if (open_marks_ > 0) journal_.push_back({node, fr, cell.usage});
  cell.usage = usage;
}

void QuotaTree::Add(NodeId node, FlavorResourceId fr, Amount amount) {
  while (node != kNoQuotaNode) {
    Cell& cell = Make(node, fr);
    const Amount room = std::max<Amount>(0, SubtractAmounts(cell.local, cell.usage));
    SetUsage(node, fr, cell, AddAmounts(cell.usage, amount));
    if (amount <= room || at(node).cyclic) return;
    amount = SubtractAmounts(amount, room);
    node = at(node).parent;
  }
}

void QuotaTree::Subtract(NodeId node, FlavorResourceId fr, Amount amount) {
  while (node != kNoQuotaNode) {
    Cell& cell = Make(node, fr);
    const Amount in_parent = SubtractAmounts(cell.usage, cell.local);
    SetUsage(node, fr, cell, SubtractAmounts(cell.usage, amount));
    if (in_parent <= 0 || at(node).cyclic) return;
    amount = std::min(amount, in_parent);
    node = at(node).parent;
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

bool QuotaTree::Fits(NodeId leaf, const Usage& usage) const {
  return std::all_of(usage.begin(), usage.end(), [&](const FlavorResourceAmount& item) {
    return item.amount <= Available(leaf, item.flavor_resource);
  });
}

QuotaTree::Mark QuotaTree::Begin() {
  ++open_marks_;
  return {journal_.size(), version_};
}

void QuotaTree::RollBack(const Mark& mark) {
  BERTH_ASSERT(open_marks_ > 0 && mark.journal_size <= journal_.size());
  for (; journal_.size() > mark.journal_size; journal_.pop_back()) {
    const Change& change = journal_.back();
    Make(change.node, change.flavor_resource).usage = change.usage_before;
  }
  version_ = mark.version;
  --open_marks_;
}

}  // namespace berth::admission

#include "admission/quota_tree.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::admission {

using api::AddAmounts;
using api::SubtractAmounts;

NodeId QuotaTree::AddNode(Kind kind) {
  if (free_.empty()) {
    nodes_.emplace_back();
    parents_.push_back(kNoQuotaNode);
    usage_versions_.push_back(0);
    cells_.resize(nodes_.size() * static_cast<std::size_t>(flavor_resource_count_));
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
  for (FlavorResourceId fr = 0; fr < flavor_resource_count_; ++fr) Make(node, fr) = Cell{};
  free_.push_back(node);
}

void QuotaTree::SetParent(NodeId node, NodeId parent) {
  BERTH_ASSERT(open_marks_ == 0);
  const NodeId before = this->parent(node);
  if (before == parent) return;
  if (before != kNoQuotaNode) std::erase(at(before).children, node);
  parents_[static_cast<std::size_t>(node)] = parent;
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
    if (quota.flavor_resource >= flavor_resource_count_) Widen(quota.flavor_resource + 1);
  }
}

void QuotaTree::SetActiveLeaf(NodeId node, bool active) { at(node).leaf_active = active; }

void QuotaTree::Widen(FlavorResourceId count) {
  const auto before = static_cast<std::size_t>(flavor_resource_count_);
  const auto after = static_cast<std::size_t>(count);
  std::vector<Cell> wider(nodes_.size() * after);
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    std::copy_n(cells_.begin() + static_cast<std::ptrdiff_t>(node * before), before,
                wider.begin() + static_cast<std::ptrdiff_t>(node * after));
  }
  cells_ = std::move(wider);
  flavor_resource_count_ = count;
}

NodeId QuotaTree::Root(NodeId node) const {
  BERTH_ASSERT(!InCycle(node));
  while (parent(node) != kNoQuotaNode) node = parent(node);
  return node;
}

bool QuotaTree::FindCycle(NodeId node) const {
  NodeId above = node;
  for (std::size_t steps = 0; steps <= nodes_.size(); ++steps) {
    above = parent(above);
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
  usage_versions_[static_cast<std::size_t>(node)] = version_;
  for (FlavorResourceId fr = 0; fr < flavor_resource_count_; ++fr) {
    Cell& cell = Make(node, fr);
    const Amount own_usage = at(node).kind == Kind::kLeaf ? cell.usage : 0;
    cell = Cell{};
    cell.usage = own_usage;
  }
  std::vector<std::uint8_t> declared(static_cast<std::size_t>(flavor_resource_count_), 0);
  for (const Quota& quota : at(node).quotas) {
    Cell& cell = Make(node, quota.flavor_resource);
    cell.nominal = cell.subtree = quota.nominal;
    cell.borrowing_limit = quota.borrowing_limit.value_or(kNoLimit);
    declared[static_cast<std::size_t>(quota.flavor_resource)] = 1;
  }
  at(node).height = 0;
  for (const NodeId child : at(node).children) {
    Accumulate(child);
    const bool counts = at(child).kind == Kind::kCohort || at(child).leaf_active;
    if (counts) at(node).height = std::max(at(node).height, at(child).height + 1);
    for (const FlavorResourceId fr : at(child).declared) declared[static_cast<std::size_t>(fr)] = 1;
    for (FlavorResourceId fr = 0; fr < flavor_resource_count_; ++fr) {
      const Cell& from = Get(child, fr);
      Cell& cell = Make(node, fr);
      cell.subtree = AddAmounts(cell.subtree, SubtractAmounts(from.subtree, from.local));
      cell.usage =
          AddAmounts(cell.usage, std::max<Amount>(0, SubtractAmounts(from.usage, from.local)));
    }
  }
  for (const Quota& quota : at(node).quotas) {
    if (!quota.lending_limit) continue;
    Cell& cell = Make(node, quota.flavor_resource);
    cell.local = std::max<Amount>(0, SubtractAmounts(cell.subtree, *quota.lending_limit));
  }
  at(node).declared.clear();
  for (FlavorResourceId fr = 0; fr < flavor_resource_count_; ++fr) {
    if (declared[static_cast<std::size_t>(fr)] != 0) at(node).declared.push_back(fr);
  }
}

void QuotaTree::SpreadPotential(NodeId node) {
  const NodeId above = parent(node);
  for (FlavorResourceId fr = 0; fr < flavor_resource_count_; ++fr) {
    Cell& cell = Make(node, fr);
    cell.potential = cell.subtree;
    if (above == kNoQuotaNode) continue;
    cell.potential = AddAmounts(cell.local, Get(above, fr).potential);
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
  const NodeId parent = this->parent(node);
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
  NodeId subtree = parent(node);
  if (subtree == kNoQuotaNode) return {0, false};
  if (!BorrowingWith(node, fr, amount)) return {0, true};
  Amount remaining = SubtractAmounts(amount, LocalAvailable(node, fr));
  while (true) {
    const NodeId above = parent(subtree);
    if (above == kNoQuotaNode || !BorrowingWith(subtree, fr, remaining)) {
      return {Height(subtree), above != kNoQuotaNode};
    }
    remaining = SubtractAmounts(remaining, LocalAvailable(subtree, fr));
    subtree = above;
  }
}

void QuotaTree::SetUsage(NodeId node, FlavorResourceId fr, Cell& cell, Amount usage) {
  std::uint64_t& version = usage_versions_[static_cast<std::size_t>(node)];
  if (open_marks_ > 0) journal_.push_back({node, fr, cell.usage, version});
  cell.usage = usage;
  version = version_;
}

void QuotaTree::Add(NodeId node, FlavorResourceId fr, Amount amount) {
  while (node != kNoQuotaNode) {
    Cell& cell = Make(node, fr);
    const Amount room = std::max<Amount>(0, SubtractAmounts(cell.local, cell.usage));
    SetUsage(node, fr, cell, AddAmounts(cell.usage, amount));
    if (amount <= room || InCycle(node)) return;
    amount = SubtractAmounts(amount, room);
    node = parent(node);
  }
}

void QuotaTree::Subtract(NodeId node, FlavorResourceId fr, Amount amount) {
  while (node != kNoQuotaNode) {
    Cell& cell = Make(node, fr);
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
    usage_versions_[static_cast<std::size_t>(change.node)] = change.version_before;
  }
  version_ = mark.version;
  --open_marks_;
}

}  // namespace berth::admission

#include "admission/topology/topology_tree.h"

#include <algorithm>

#include "api/labels.h"
#include "api/quantity.h"
#include "base/assert.h"
#include "base/strings.h"

namespace berth::admission {
namespace {

constexpr std::size_t kMaxJournal = 1U << 16U;
constexpr std::int64_t kRankGap = std::int64_t{1} << 20U;

}  // namespace

std::string LeafKey(const std::vector<std::string>& values) { return Join(values, ","); }

TopologyTree::TopologyTree(std::string name, std::vector<std::string> levels)
    : name_(std::move(name)), levels_(std::move(levels)), by_values_(levels_.size()) {
  lowest_is_hostname_ = !levels_.empty() && levels_.back() == api::kHostnameLabel;
}

std::optional<std::int32_t> TopologyTree::LevelOf(const std::string& label) const {
  const auto found = std::find(levels_.begin(), levels_.end(), label);
  if (found == levels_.end()) return std::nullopt;
  return static_cast<std::int32_t>(found - levels_.begin());
}

// A rank between those of the neighbours; if there is none, assigns new ranks to the whole level,
// which keeps the order.
std::int64_t TopologyTree::NewRank(std::int32_t level, const std::vector<std::string>& values) {
  auto& known = by_values_[static_cast<std::size_t>(level)];
  if (known.empty()) return 0;
  const auto next = known.lower_bound(values);
  if (next == known.end()) {
    return domains_[static_cast<std::size_t>(std::prev(next)->second)].rank + kRankGap;
  }
  const std::int64_t after = domains_[static_cast<std::size_t>(next->second)].rank;
  if (next == known.begin()) return after - kRankGap;
  const std::int64_t before = domains_[static_cast<std::size_t>(std::prev(next)->second)].rank;
  if (after - before > 1) return before + (after - before) / 2;
  std::int64_t rank = 0;
  for (const auto& [key, id] : known) {
    domains_[static_cast<std::size_t>(id)].rank = rank += kRankGap;
  }
  return domains_[static_cast<std::size_t>(next->second)].rank - kRankGap / 2;
}

DomainId TopologyTree::MakeDomain(const std::vector<std::string>& values) {
  const auto level = static_cast<std::int32_t>(values.size()) - 1;
  auto& known = by_values_[static_cast<std::size_t>(level)];
  if (const auto found = known.find(values); found != known.end()) return found->second;
  DomainId parent = kNoDomain;
  if (level > 0) parent = MakeDomain({values.begin(), values.end() - 1});
  Domain made;
  made.parent = parent;
  made.level = level;
  made.values = values;
  made.rank = NewRank(level, values);
  const auto id = static_cast<DomainId>(domains_.size());
  if (level == level_count() - 1) {
    made.leaf = leaf_count();
    leaves_.push_back({id, {}, 1});
    free_.resize(free_.size() + static_cast<std::size_t>(stride_), 0);
    used_.resize(used_.size() + static_cast<std::size_t>(stride_), 0);
  }
  domains_.push_back(std::move(made));
  if (parent != kNoDomain) domains_[static_cast<std::size_t>(parent)].children.push_back(id);
  known.emplace(values, id);
  return id;
}

void TopologyTree::Widen(ResourceId resource) {
  if (resource < stride_) return;
  const std::int32_t stride = resource + 1;
  const auto wide = [this, stride](const std::vector<std::int64_t>& narrow) {
    std::vector<std::int64_t> cells(leaves_.size() * static_cast<std::size_t>(stride), 0);
    for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      const auto from = narrow.begin() + static_cast<std::ptrdiff_t>(leaf) * stride_;
      std::copy(from, from + stride_, cells.begin() + static_cast<std::ptrdiff_t>(leaf) * stride);
    }
    return cells;
  };
  free_ = wide(free_);
  used_ = wide(used_);
  stride_ = stride;
}

void TopologyTree::AddCapacity(std::int32_t leaf, const std::vector<ResourceRequest>& capacity,
                               std::int64_t times) {
  for (const ResourceRequest& item : capacity) {
    Widen(item.resource);
    std::int64_t& cell = free_[Cell(leaf, item.resource)];
    cell = api::AddAmounts(cell, api::MultiplyAmounts(item.amount, times));
  }
}

void TopologyTree::ChangeLive(DomainId leaf, std::int32_t by) {
  for (DomainId id = leaf; id != kNoDomain;) {
    Domain& changed = domains_[static_cast<std::size_t>(id)];
    const bool lived = changed.live > 0;
    changed.live += by;
    const bool lives = changed.live > 0;
    if (changed.leaf >= 0) live_leaves_ += static_cast<int>(lives) - static_cast<int>(lived);
    if (lived == lives) return;
    id = changed.parent;
  }
}

void TopologyTree::Note(std::int32_t leaf) {
  if (journal_.size() >= kMaxJournal) {
    journal_.erase(journal_.begin(), journal_.begin() + kMaxJournal / 2);
    journal_start_ += kMaxJournal / 2;
  }
  journal_.push_back(leaf);
}

DomainId TopologyTree::AddNode(const NodeFacts& node) {
  std::vector<std::string> values;
  values.reserve(levels_.size());
  for (const std::string& level : levels_) values.push_back(node.labels.at(level));
  const std::string key = lowest_is_hostname_ ? values.back() : LeafKey(values);
  // A second node of the same hostname joins the first one's leaf, as long as that leaf is live.
  DomainId id = FindLeaf(key);
  if (id == kNoDomain || (domain(id).live == 0 && domain(id).values != values)) {
    id = MakeDomain(values);
    leaf_by_key_[key] = id;
  }
  const std::int32_t number = domain(id).leaf;
  Leaf& leaf = leaves_[static_cast<std::size_t>(number)];
  const auto place =
      std::lower_bound(leaf.nodes.begin(), leaf.nodes.end(), &node,
                       [](const NodeFacts* a, const NodeFacts* b) { return a->name < b->name; });
  leaf.nodes.insert(place, &node);
  ++leaf.node_version;
  AddCapacity(number, node.capacity, 1);
  ChangeLive(id, 1);
  Note(number);
  return id;
}

DomainId TopologyTree::RemoveNode(const NodeFacts& node) {
  std::vector<std::string> values;
  for (const std::string& level : levels_) values.push_back(node.labels.at(level));
  const DomainId id = FindLeaf(lowest_is_hostname_ ? values.back() : LeafKey(values));
  BERTH_ASSERT(id != kNoDomain);
  const std::int32_t number = domain(id).leaf;
  Leaf& leaf = leaves_[static_cast<std::size_t>(number)];
  const auto place = std::find(leaf.nodes.begin(), leaf.nodes.end(), &node);
  BERTH_ASSERT(place != leaf.nodes.end());
  leaf.nodes.erase(place);
  ++leaf.node_version;
  AddCapacity(number, node.capacity, -1);
  ChangeLive(id, -1);
  Note(number);
  return id;
}

std::span<const NodeFacts* const> TopologyTree::NodesAt(std::int32_t leaf) const {
  if (!lowest_is_hostname_) return {};
  return At(leaf).nodes;
}

DomainId TopologyTree::FindLeaf(const std::string& key) const {
  const auto found = leaf_by_key_.find(key);
  return found == leaf_by_key_.end() ? kNoDomain : found->second;
}

bool TopologyTree::Below(DomainId id, DomainId ancestor) const {
  while (id != kNoDomain && id != ancestor) id = domain(id).parent;
  return id == ancestor;
}

void TopologyTree::AddUsed(DomainId leaf, const std::vector<ResourceRequest>& per_pod,
                           std::int64_t count) {
  const std::int32_t number = domain(leaf).leaf;
  for (const ResourceRequest& item : per_pod) {
    Widen(item.resource);
    std::int64_t& cell = used_[Cell(number, item.resource)];
    cell = api::AddAmounts(cell, api::MultiplyAmounts(item.amount, count));
  }
  Note(number);
}

void TopologyTree::SetUsed(DomainId leaf, const std::vector<ResourceRequest>& used) {
  const std::int32_t number = domain(leaf).leaf;
  for (ResourceId resource = 0; resource < stride_; ++resource) used_[Cell(number, resource)] = 0;
  AddUsed(leaf, used, 1);
}

void TopologyTree::AddAssumed(DomainId leaf, const std::vector<ResourceRequest>& per_pod,
                              std::int64_t count) {
  const std::int32_t number = domain(leaf).leaf;
  AddCapacity(number, per_pod, -count);
  Note(number);
}

std::optional<std::span<const std::int32_t>> TopologyTree::ChangesSince(
    std::uint64_t position) const {
  if (position < journal_start_) return std::nullopt;
  return std::span<const std::int32_t>(journal_).subspan(
      static_cast<std::size_t>(position - journal_start_));
}

}  // namespace berth::admission

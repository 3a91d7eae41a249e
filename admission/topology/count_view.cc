#include "admission/topology/count_view.h"

#include <algorithm>
#include <limits>

#include "admission/topology/node_filter.h"
#include "api/gpu_shares.h"
#include "base/strings.h"

namespace berth::admission {
namespace {

constexpr std::int32_t kMaxCount = std::numeric_limits<std::int32_t>::max();

std::int32_t Saturate(std::int64_t count) {
  return static_cast<std::int32_t>(std::min<std::int64_t>(count, kMaxCount));
}

std::int32_t MultipleBelow(std::int32_t count, std::int32_t size) {
  return size > 1 ? count / size * size : count;
}

// The number of `pod` that fit `left`, and the scarcest resource: the first by name.
template <typename Left>
std::int32_t TimesIn(const std::vector<ResourceRequest>& pod, const Left& left,
                     ResourceId& short_of) {
  std::int64_t fewest = kMaxCount;
  short_of = -1;
  for (const ResourceRequest& item : pod) {
    const std::int64_t room = left(item.resource);
    const std::int64_t times = room <= 0 ? 0 : room / item.amount;
    if (short_of >= 0 && times >= fewest) continue;
    fewest = std::min<std::int64_t>(times, kMaxCount);
    short_of = item.resource;
  }
  return short_of < 0 ? 0 : static_cast<std::int32_t>(fewest);
}

}  // namespace

CountView::CountView(const TopologyTree& tree, const queue::Names& resources, CountKey shape)
    : tree_(tree), resources_(resources), shape_(std::move(shape)) {
  orders_.resize(static_cast<std::size_t>(tree_.level_count()));
}

bool CountView::Before(DomainId a, DomainId b) const {
  const DomainCounts& left = at(a);
  const DomainCounts& right = at(b);
  if (left.leaders != right.leaders) return left.leaders > right.leaders;
  if (preference(a) != preference(b)) return preference(a) > preference(b);
  if (left.slices_with_leader != right.slices_with_leader) {
    return (left.slices_with_leader > right.slices_with_leader) ==
           (shape_.order == CountKey::Order::kMostFirst);
  }
  if (left.pods_with_leader != right.pods_with_leader) {
    return left.pods_with_leader < right.pods_with_leader;
  }
  if (free_gpus(a) != free_gpus(b)) return free_gpus(a) < free_gpus(b);
  return tree_.domain(a).rank < tree_.domain(b).rank;
}

void CountView::Grow() {
  const auto domains = static_cast<std::size_t>(tree_.domain_count());
  const auto leaves = static_cast<std::size_t>(tree_.leaf_count());
  counts_.resize(domains);
  if (!shape_.filter.preferred.empty() || !shape_.shares_per_gpu.empty()) merits_.resize(domains);
  present_.resize(domains, 0);
  seen_.resize(domains, 0);
  matches_.resize(leaves);
  reasons_.resize(leaves, -1);
}

void CountView::Refresh() {
  if (!built_) {
    RebuildAll();
    return;
  }
  const auto changes = tree_.ChangesSince(position_);
  if (changes && changes->empty()) return;
  if (!changes || changes->size() > static_cast<std::size_t>(tree_.live_leaf_count()) / 4 + 64) {
    RebuildAll();
    return;
  }
  Grow();
  ++round_;
  std::vector<DomainId> changed;
  for (const std::int32_t leaf : *changes) {
    const DomainId id = tree_.domain_of_leaf(leaf);
    std::uint32_t& seen = seen_[static_cast<std::size_t>(id)];
    if (std::exchange(seen, round_) == round_) continue;
    const LeafState state = CountLeaf(leaf);
    SetReason(leaf, state.reason);
    if (Store(id, state.counts, state.merits, tree_.domain(id).live > 0)) changed.push_back(id);
  }
  Lift(changed);
  position_ = tree_.position();
}

// Recomputes the domains above, level by level, while counts change.
void CountView::Lift(std::vector<DomainId>& changed) {
  while (!changed.empty()) {
    std::vector<DomainId> parents;
    for (const DomainId id : changed) {
      const DomainId parent = tree_.domain(id).parent;
      if (parent == kNoDomain) continue;
      if (std::exchange(seen_[static_cast<std::size_t>(parent)], round_) != round_) {
        parents.push_back(parent);
      }
    }
    changed.clear();
    for (const DomainId id : parents) {
      const TopologyTree::Domain& domain = tree_.domain(id);
      if (Store(id, CountParent(domain), MeritsOfParent(domain), domain.live > 0)) {
        changed.push_back(id);
      }
    }
  }
}

void CountView::RebuildAll() {
  Grow();
  for (LevelOrder& order : orders_) order = {};
  std::vector<DomainId> above;
  for (std::int32_t leaf = 0; leaf < tree_.leaf_count(); ++leaf) {
    const DomainId id = tree_.domain_of_leaf(leaf);
    const LeafState state = CountLeaf(leaf);
    counts_[static_cast<std::size_t>(id)] = state.counts;
    SetMerits(id, state.merits);
    present_[static_cast<std::size_t>(id)] = tree_.domain(id).live > 0 ? 1 : 0;
    SetReason(leaf, state.reason);
  }
  for (DomainId id = 0; id < tree_.domain_count(); ++id) {
    if (tree_.domain(id).leaf < 0) above.push_back(id);
  }
  std::stable_sort(above.begin(), above.end(), [this](DomainId a, DomainId b) {
    return tree_.domain(a).level > tree_.domain(b).level;
  });
  for (const DomainId id : above) {
    counts_[static_cast<std::size_t>(id)] = CountParent(tree_.domain(id));
    SetMerits(id, MeritsOfParent(tree_.domain(id)));
    present_[static_cast<std::size_t>(id)] = tree_.domain(id).live > 0 ? 1 : 0;
  }
  position_ = tree_.position();
  built_ = true;
}

std::int32_t CountView::ReasonNumber(const std::string& text) {
  const auto found = std::find(reason_texts_.begin(), reason_texts_.end(), text);
  if (found != reason_texts_.end()) {
    return static_cast<std::int32_t>(found - reason_texts_.begin());
  }
  reason_texts_.push_back(text);
  reason_counts_.push_back(0);
  return static_cast<std::int32_t>(reason_texts_.size()) - 1;
}

void CountView::SetReason(std::int32_t leaf, std::int32_t reason) {
  std::int32_t& known = reasons_[static_cast<std::size_t>(leaf)];
  if (known == reason) return;
  if (known >= 0) --reason_counts_[static_cast<std::size_t>(known)];
  if (reason >= 0) ++reason_counts_[static_cast<std::size_t>(reason)];
  known = reason;
}

const CountView::Match& CountView::MatchNode(std::int32_t leaf) {
  Match& match = matches_[static_cast<std::size_t>(leaf)];
  const std::uint32_t version = tree_.node_version(leaf);
  if (match.node_version == version) return match;
  match = {version, -1, 0};
  // kube-scheduler takes one of the nodes with this hostname that the pod fits.
  bool takes_pods = false;
  for (const NodeFacts* node : tree_.NodesAt(leaf)) {
    if (const auto why_not = WhyExcluded(shape_.filter, *node)) {
      if (match.reason < 0) match.reason = ReasonNumber(*why_not);
      continue;
    }
    const auto preference = PreferenceFor(shape_.filter, *node);
    match.preference = takes_pods ? std::max(match.preference, preference) : preference;
    takes_pods = true;
  }
  if (takes_pods) match.reason = -1;
  return match;
}

CountView::LeafState CountView::CountLeaf(std::int32_t leaf) {
  const DomainId id = tree_.domain_of_leaf(leaf);
  const TopologyTree::Domain& domain = tree_.domain(id);
  LeafState state;
  if (domain.live == 0) return state;
  const Match& match = MatchNode(leaf);
  state.reason = match.reason;
  state.merits.preference = match.preference;
  if (state.reason >= 0) return state;
  if (shape_.only_below != kNoDomain && !tree_.Below(id, shape_.only_below)) {
    state.reason = ReasonNumber("topologyDomain");
    return state;
  }
  DomainCounts& counts = state.counts;
  const bool as_used = shape_.usage == CountKey::Usage::kAsUsed;
  const auto left = [this, leaf, as_used](ResourceId resource) {
    const std::int64_t used = as_used ? tree_.Used(leaf, resource) : 0;
    return api::SubtractAmounts(tree_.Free(leaf, resource), used);
  };
  for (const ResourceRequest& shares : shape_.shares_per_gpu) {
    const std::int64_t free = std::max<std::int64_t>(left(shares.resource), 0);
    state.merits.free_gpus =
        api::AddAmounts(state.merits.free_gpus, api::GpusOf(free, shares.amount));
  }
  ResourceId short_of = -1;
  counts.pods = TimesIn(shape_.pod, left, short_of);
  if (counts.pods == 0 && short_of >= 0) {
    state.reason = ReasonNumber("resource \"" + resources_[short_of] + '"');
  }
  counts.pods_with_leader = counts.pods;
  if (shape_.leader) {
    const std::vector<ResourceRequest>& leader = *shape_.leader;
    counts.leaders = TimesIn(leader, left, short_of) > 0 ? 1 : 0;
    const auto beside = [&](ResourceId resource) {
      std::int64_t room = left(resource);
      for (const ResourceRequest& item : leader) {
        if (counts.leaders > 0 && item.resource == resource) room -= item.amount;
      }
      return room;
    };
    counts.pods_with_leader = TimesIn(shape_.pod, beside, short_of);
  }
  if (domain.level == shape_.slice_level) {
    counts.slices = counts.pods / shape_.slice_size;
    counts.slices_with_leader = counts.pods_with_leader / shape_.slice_size;
  }
  return state;
}

CountView::Merits CountView::MeritsOfParent(const TopologyTree::Domain& domain) const {
  Merits sum;
  if (merits_.empty()) return sum;
  for (const DomainId id : domain.children) {
    if (!present(id)) continue;
    sum.preference += preference(id);
    sum.free_gpus = api::AddAmounts(sum.free_gpus, free_gpus(id));
  }
  return sum;
}

DomainCounts CountView::CountParent(const TopologyTree::Domain& domain) const {
  const auto child_level = static_cast<std::size_t>(domain.level) + 1;
  const std::int32_t inner =
      child_level < shape_.inner_sizes.size() ? shape_.inner_sizes[child_level] : 0;
  const bool led = shape_.leader.has_value();
  std::int64_t pods = 0;
  std::int64_t slices = 0;
  std::int32_t pods_cost = kMaxCount;
  std::int32_t slices_cost = kMaxCount;
  bool any_leader = false;
  DomainCounts counts;
  for (const DomainId id : domain.children) {
    if (!present(id)) continue;
    const DomainCounts& child = at(id);
    const std::int32_t child_pods = MultipleBelow(child.pods, inner);
    pods += child_pods;
    slices += child.slices;
    if (!led || child.leaders > 0) {
      any_leader = true;
      pods_cost = std::min(pods_cost, child_pods - MultipleBelow(child.pods_with_leader, inner));
      slices_cost = std::min(slices_cost, child.slices - child.slices_with_leader);
    }
    counts.leaders = std::max(counts.leaders, child.leaders);
  }
  counts.pods = Saturate(pods);
  counts.slices = Saturate(slices);
  if (any_leader) {
    counts.pods_with_leader = counts.pods - pods_cost;
    counts.slices_with_leader = counts.slices - slices_cost;
  }
  if (domain.level == shape_.slice_level) {
    counts.slices = counts.pods / shape_.slice_size;
    counts.slices_with_leader = counts.pods_with_leader / shape_.slice_size;
  }
  return counts;
}

std::vector<DomainId>::iterator CountView::PlaceOf(LevelOrder& order, DomainId id) {
  auto& domains = order.ordering.domains;
  return std::lower_bound(domains.begin(), domains.end(), id,
                          [this](DomainId a, DomainId b) { return Before(a, b); });
}

bool CountView::Store(DomainId id, const DomainCounts& counts, const Merits& merits,
                      bool now_present) {
  const auto slot = static_cast<std::size_t>(id);
  const bool was_present = present(id);
  const bool same_merits = merits_.empty() || merits_[slot] == merits;
  if (was_present == now_present && counts_[slot] == counts && same_merits) return false;
  LevelOrder& order = orders_[static_cast<std::size_t>(tree_.domain(id).level)];
  if (order.kept && was_present) {
    order.ordering.domains.erase(PlaceOf(order, id));
    order.ordering.slices -= counts_[slot].slices;
  }
  counts_[slot] = counts;
  SetMerits(id, merits);
  present_[slot] = now_present ? 1 : 0;
  if (order.kept && now_present) {
    order.ordering.domains.insert(PlaceOf(order, id), id);
    order.ordering.slices += counts.slices;
  }
  return true;
}

const CountView::Ordering& CountView::ByCapacity(std::int32_t level) {
  LevelOrder& order = orders_[static_cast<std::size_t>(level)];
  if (order.kept) return order.ordering;
  order.kept = true;
  for (DomainId id = 0; id < tree_.domain_count(); ++id) {
    if (tree_.domain(id).level != level || !present(id)) continue;
    order.ordering.domains.push_back(id);
    order.ordering.slices += at(id).slices;
  }
  std::sort(order.ordering.domains.begin(), order.ordering.domains.end(),
            [this](DomainId a, DomainId b) { return Before(a, b); });
  return order.ordering;
}

std::string CountView::Exclusions() const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < reason_texts_.size(); ++i) {
    if (reason_counts_[i] == 0) continue;
    texts.push_back(reason_texts_[i] + ": " + std::to_string(reason_counts_[i]));
  }
  if (texts.empty()) return "";
  std::sort(texts.begin(), texts.end());
  return ". Total nodes: " + std::to_string(tree_.live_leaf_count()) +
         "; excluded: " + Join(texts, ", ");
}

}  // namespace berth::admission

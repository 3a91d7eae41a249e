#include "admission/quota/dominant_share.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace berth::admission {
int Compare(const DominantShare& a, const DominantShare& b) {
  double left = a.unweighted;
  double right = b.unweighted;
  if (a.IsInfinite() != b.IsInfinite()) return a.IsInfinite() ? 1 : -1;
  if (!a.IsInfinite()) {
    left = a.IsZero() ? 0.0 : a.unweighted / a.weight;
    right = b.IsZero() ? 0.0 : b.unweighted / b.weight;
  }
  return (left > right ? 1 : 0) - (left < right ? 1 : 0);
}

std::int64_t WeightedShare(const DominantShare& share) {
  if (share.IsInfinite()) return INT64_MAX;
  if (share.IsZero()) return 0;
  const double rounded = std::ceil(share.unweighted / share.weight);
  return rounded >= 9.2e18 ? INT64_MAX : static_cast<std::int64_t>(rounded);
}

double ExactShare(const DominantShare& share) {
  if (share.IsInfinite()) return std::numeric_limits<double>::quiet_NaN();
  return share.IsZero() ? 0.0 : share.unweighted / share.weight;
}

const DominantShares::Lendable& DominantShares::LendableOf(NodeId cohort) {
  const QuotaTree& tree = state_.tree();
  SmallVector<NodeId, 4> path;
  for (NodeId node = cohort; node != kNoQuotaNode; node = tree.parent(node)) {
    const auto slot = static_cast<std::size_t>(node);
    if (slot >= lendable_.size()) lendable_.resize(slot + 1);
    if (lendable_[slot].build == tree.build()) break;
    path.push_back(node);
  }
  for (std::size_t i = path.size(); i-- > 0;) {
    Refresh(lendable_[static_cast<std::size_t>(path[i])], path[i], tree.Root(path[i]));
  }
  return lendable_[static_cast<std::size_t>(cohort)];
}

Amount DominantShares::CutOff(Wide sum) {
  return static_cast<Amount>(std::clamp<Wide>(sum, INT64_MIN, INT64_MAX));
}

void DominantShares::Refresh(Lendable& lendable, NodeId cohort, NodeId root) {
  const QuotaTree& tree = state_.tree();
  const QuotaTree::QuotaChanges changes = tree.quota_changes(root);
  const auto resource_count = static_cast<std::size_t>(state_.vocabulary().resources.size());
  lendable.part_sums.resize(resource_count, 0);
  if (lendable.root != root || lendable.epoch != changes.epoch) {
    lendable.root = root;
    lendable.epoch = changes.epoch;
    lendable.parts.clear();
    lendable.part_sums.assign(resource_count, 0);
    tree.ForEachDeclared(
        cohort, [&](FlavorResourceId fr, Amount, Amount) { SetPart(lendable, cohort, fr); });
    lendable.changes_seen = changes.flavor_resources->size();
  }
  for (; lendable.changes_seen < changes.flavor_resources->size(); ++lendable.changes_seen) {
    SetPart(lendable, cohort, (*changes.flavor_resources)[lendable.changes_seen]);
  }
  lendable.sums = lendable.part_sums;
  if (cohort != root) {
    const Lendable& above = lendable_[static_cast<std::size_t>(tree.parent(cohort))];
    for (std::size_t i = 0; i < resource_count; ++i) lendable.sums[i] += above.sums[i];
  }
  lendable.build = tree.build();
}

void DominantShares::SetPart(Lendable& lendable, NodeId cohort, FlavorResourceId fr) {
  const QuotaTree& tree = state_.tree();
  Wide part = tree.Potential(cohort, fr);
  if (cohort != lendable.root) part -= tree.Potential(tree.parent(cohort), fr);
  auto& parts = lendable.parts;
  const auto place = std::lower_bound(
      parts.begin(), parts.end(), fr,
      [](const auto& known, FlavorResourceId number) { return known.first < number; });
  const bool known = place != parts.end() && place->first == fr;
  if (!known && part == 0) return;
  Wide& sum =
      lendable
          .part_sums[static_cast<std::size_t>(state_.vocabulary().flavor_resources.ResourceOf(fr))];
  sum += part - (known ? place->second : 0);
  if (!known) {
    parts.insert(place, {fr, part});
  } else if (part != 0) {
    place->second = part;
  } else {
    parts.erase(place);
  }
}

DominantShare DominantShares::Of(NodeId node) {
  const QuotaTree& tree = state_.tree();
  DominantShare share;
  share.weight = state_.FairWeight(node);
  const NodeId parent = tree.parent(node);
  if (parent == kNoQuotaNode) return share;
  borrowed_.resize(static_cast<std::size_t>(state_.vocabulary().resources.size()), 0);
  touched_.clear();
  tree.ForEachDeclared(node, [this](FlavorResourceId fr, Amount usage, Amount subtree) {
    const Amount above = api::SubtractAmounts(usage, subtree);
    if (above <= 0) return;
    const ResourceId resource = state_.vocabulary().flavor_resources.ResourceOf(fr);
    Amount& sum = borrowed_[static_cast<std::size_t>(resource)];
    if (sum == 0) touched_.push_back(resource);
    sum = api::AddAmounts(sum, above);
  });
  if (touched_.empty()) return share;
  const Lendable& lendable = LendableOf(parent);
  for (const ResourceId resource : touched_) {
    const auto slot = static_cast<std::size_t>(resource);
    const Amount lent = slot < lendable.sums.size() ? CutOff(lendable.sums[slot]) : 0;
    if (lent > 0) {
      const double ratio =
          static_cast<double>(borrowed_[slot]) * 1000.0 / static_cast<double>(lent);
      share.unweighted = std::max(share.unweighted, ratio);
    }
    borrowed_[slot] = 0;
  }
  return share;
}

}  // namespace berth::admission

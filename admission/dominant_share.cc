#include "admission/dominant_share.h"

#include <algorithm>
#include <cmath>

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

const std::vector<Amount>& DominantShares::Lendable(NodeId parent) {
  const QuotaTree& tree = state_.tree();
  const auto slot = static_cast<std::size_t>(parent);
  if (slot >= lendable_.size()) lendable_.resize(slot + 1);
  Entry& entry = lendable_[slot];
  if (entry.built == tree.build()) return entry.amounts;
  entry.built = tree.build();
  entry.amounts.assign(static_cast<std::size_t>(state_.vocabulary().resources.size()), 0);
  tree.ForEachDeclared(tree.Root(parent), [&](FlavorResourceId fr, Amount, Amount) {
    Amount& sum = entry.amounts[static_cast<std::size_t>(state_.ResourceOf(fr))];
    sum = api::AddAmounts(sum, tree.Potential(parent, fr));
  });
  return entry.amounts;
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
    const ResourceId resource = state_.ResourceOf(fr);
    Amount& sum = borrowed_[static_cast<std::size_t>(resource)];
    if (sum == 0) touched_.push_back(resource);
    sum = api::AddAmounts(sum, above);
  });
  if (touched_.empty()) return share;
  const std::vector<Amount>& lendable = Lendable(parent);
  for (const ResourceId resource : touched_) {
    const auto slot = static_cast<std::size_t>(resource);
    const Amount lent = slot < lendable.size() ? lendable[slot] : 0;
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

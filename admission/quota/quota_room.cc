#include "admission/quota/quota_room.h"

#include <algorithm>

namespace berth::admission {

bool Fits(const QuotaTree& tree, NodeId leaf, const Usage& usage) {
  return std::all_of(usage.begin(), usage.end(), [&](const FlavorResourceAmount& item) {
    return item.amount <= tree.Available(leaf, item.flavor_resource);
  });
}

Lender LowestSubtreeThatFits(const QuotaTree& tree, NodeId node, FlavorResourceId fr,
                             Amount amount) {
  NodeId above = tree.parent(node);
  if (above == kNoQuotaNode) return {0, false};
  Amount remaining = amount;
  while (true) {
    const QuotaCell& cell = tree.AmountsOf(node, fr);
    if (above == kNoQuotaNode || !cell.BorrowingWith(remaining)) {
      return {tree.Height(node), above != kNoQuotaNode};
    }
    remaining = api::SubtractAmounts(remaining, cell.LocalAvailable());
    node = above;
    above = tree.parent(node);
  }
}

}  // namespace berth::admission

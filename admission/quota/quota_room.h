// admission/quota/quota_room.h — whether a ClusterQueue has room for a usage, and which cohort
// lends it.
//
// Units: amounts of the resource's smallest unit.
// Threads: one. Errors: none.
// Source: Kueue KEP-79 (hierarchical cohorts), pkg/scheduler/preemption/classical.
#pragma once

#include <cstdint>

#include "admission/quota/quota_tree.h"

namespace berth::admission {

// Whether the leaf could take `usage` now.
bool Fits(const QuotaTree& tree, NodeId leaf, const Usage& usage);

struct Lender {
  std::int32_t height = 0;
  bool below_root = false;
};
// The height of the smallest subtree around leaf `node` that has `amount` of fr without borrowing,
// and whether that subtree is smaller than the whole tree.
Lender LowestSubtreeThatFits(const QuotaTree& tree, NodeId node, FlavorResourceId fr,
                             Amount amount);

}  // namespace berth::admission

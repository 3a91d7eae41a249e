// admission/dominant_share.h — how much more than its own a queue or cohort uses, as one number.
//
// For a node with a parent, per resource: what it uses above its subtree quota, summed over
// flavors, in thousandths of what the parent's tree could lend it of that resource; the largest of
// these, divided by the node's weight, is its share. A borrowing node of weight 0 has an infinite
// share; two such compare by the undivided number.
//
// The numbers are IEEE doubles computed in Kueue's order of operations, so comparisons come out the
// same as there.
//
// Threads: one. Errors: none.
// Source: Kueue KEP-1714, pkg/cache/scheduler/fair_sharing.go.
#pragma once

#include <cstdint>
#include <vector>

#include "admission/cluster_state.h"

namespace berth::admission {

struct DominantShare {
  double weight = 1.0;
  double unweighted = 0.0;

  bool IsZero() const { return unweighted == 0.0; }
  bool IsInfinite() const { return weight == 0.0 && !IsZero(); }
  // Below every real share.
  static DominantShare Lowest() { return {1.0, -1.0}; }
};

// Negative, zero or positive as a < b, a == b, a > b.
int Compare(const DominantShare& a, const DominantShare& b);

// As published in status: rounded up; INT64_MAX for infinite.
std::int64_t WeightedShare(const DominantShare& share);

class DominantShares {
 public:
  explicit DominantShares(const ClusterState& state) : state_(state) {}

  // With the usage the tree has now.
  DominantShare Of(NodeId node);

 private:
  // What the tree could lend to children of `parent`, by resource.
  const std::vector<Amount>& Lendable(NodeId parent);

  struct Entry {
    std::uint64_t built = 0;
    std::vector<Amount> amounts;
  };
  const ClusterState& state_;
  std::vector<Entry> lendable_;      // by node
  std::vector<Amount> borrowed_;     // by resource; scratch
  std::vector<ResourceId> touched_;  // scratch
};

}  // namespace berth::admission

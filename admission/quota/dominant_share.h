// admission/quota/dominant_share.h — the dominant share: a node's borrowing as one number.
//
// For a node with a parent, per resource: usage above the subtree quota, summed over flavors, in
// thousandths of the amount of the resource that the parent's tree could lend the node. The largest
// of these numbers, divided by the node's weight, is the share. A borrowing node of weight 0 has an
// infinite share; two such nodes compare by the undivided number.
//
// The lendable amounts of cohorts are cached. After a change of quota, of limits or of the tree,
// only those of the changed flavor-resources are recomputed.
//
// The numbers are IEEE doubles computed in Kueue's order of operations, so comparisons give Kueue's
// results.
//
// Threads: one. Errors: none.
// Source: Kueue KEP-1714, pkg/cache/scheduler/fair_sharing.go.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "admission/cluster_state.h"

namespace berth::admission {

struct DominantShare {
  double weight = 1.0;
  double unweighted = 0.0;

  bool IsZero() const { return unweighted == 0.0; }
  bool IsInfinite() const { return weight == 0.0 && !IsZero(); }
  // Less than every real share.
  static DominantShare Lowest() { return {1.0, -1.0}; }
};

// Negative, zero or positive as a < b, a == b, a > b.
int Compare(const DominantShare& a, const DominantShare& b);

// The number that the status shows: rounded up; INT64_MAX for infinite.
std::int64_t WeightedShare(const DominantShare& share);
// The share that metrics show: not rounded; NaN for infinite.
double ExactShare(const DominantShare& share);

class DominantShares {
 public:
  explicit DominantShares(const ClusterState& state) : state_(state) {}

  // The share with the present usage of the tree.
  DominantShare Of(NodeId node);

 private:
  __extension__ using Wide = __int128;
  // The amounts that the tree could lend to the children of one cohort: for each resource the
  // potentials of the cohort, summed over flavors. A potential is that of the parent cohort plus a
  // part that depends on the cohort's own quotas and limits; only flavor-resources for which the
  // cohort or a node below has quota have a part.
  struct Lendable {
    std::uint64_t build = 0;  // QuotaTree::build of the sums
    NodeId root = kNoQuotaNode;
    std::uint64_t epoch = 0;                               // epoch of the root's QuotaChanges
    std::size_t changes_seen = 0;                          // number of QuotaChanges included
    std::vector<std::pair<FlavorResourceId, Wide>> parts;  // by number
    std::vector<Wide> part_sums;                           // by resource
    std::vector<Wide> sums;                                // by resource, parents included
  };

  static Amount CutOff(Wide sum);
  const Lendable& LendableOf(NodeId cohort);
  void Refresh(Lendable& lendable, NodeId cohort, NodeId root);
  void SetPart(Lendable& lendable, NodeId cohort, FlavorResourceId fr);

  const ClusterState& state_;
  std::vector<Lendable> lendable_;   // by node
  std::vector<Amount> borrowed_;     // by resource; scratch
  std::vector<ResourceId> touched_;  // scratch
};

}  // namespace berth::admission

// admission/dominant_share.h — how much more than its own a queue or cohort uses, as one number.
//
// For a node with a parent, per resource: what it uses above its subtree quota, summed over
// flavors, in thousandths of what the parent's tree could lend it of that resource; the largest of
// these, divided by the node's weight, is its share. A borrowing node of weight 0 has an infinite
// share; two such compare by the undivided number.
//
// What a cohort could lend is kept. After a change of quota, of limits or of the tree only what
// concerns the changed flavor-resources is computed anew.
//
// The numbers are IEEE doubles computed in Kueue's order of operations, so comparisons come out the
// same as there.
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
  __extension__ using Wide = __int128;
  // What the tree could lend to the children of one cohort: for each resource the potentials of the
  // cohort, summed over flavors. A potential is that of the cohort above plus a part that depends
  // on the cohort's own quotas and limits; there are parts only for the flavor-resources that the
  // cohort or a node below has quota for.
  struct Lendable {
    std::uint64_t build = 0;  // of the tree: nothing has changed since
    NodeId root = kNoQuotaNode;
    std::uint64_t epoch = 0;                               // of the root's quota changes,
    std::size_t changes_seen = 0;                          // of which so many are counted in
    std::vector<std::pair<FlavorResourceId, Wide>> parts;  // by number
    std::vector<Wide> part_sums;                           // by resource
    std::vector<Wide> sums;                                // likewise, with those above
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

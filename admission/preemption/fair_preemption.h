// admission/preemption/fair_preemption.h — chooses preemption targets with fair sharing.
//
// At each level of the cohort tree the child with the highest dominant share gives the next target,
// within the rules, until the workload fits. The first rule walks the candidates of each queue, the
// second those that the first refused. Then targets that are not needed are put back.
//
// Threads: one. Errors: none; an empty answer: no set of candidates makes enough room.
// Source: Kueue KEP-1714, pkg/scheduler/preemption (fairPreemptions).
#pragma once

#include <cstdint>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/feature_gates.h"
#include "admission/preemption/preemption_candidates.h"
#include "admission/preemption/preemption_trial.h"
#include "admission/quota/dominant_share.h"

namespace berth::admission {

enum class FairSharingRule : std::uint8_t { kLessThanOrEqualToFinalShare, kLessThanInitialShare };

struct FairSharing {
  std::vector<FairSharingRule> rules = {FairSharingRule::kLessThanOrEqualToFinalShare,
                                        FairSharingRule::kLessThanInitialShare};
};

class FairPreemption {
 public:
  FairPreemption(ClusterState& state, const FeatureGates& gates, const FairSharing& config,
                 DominantShares& shares, PreemptionCandidates& candidates, PreemptionTrial& trial)
      : state_(state),
        gates_(gates),
        config_(config),
        shares_(shares),
        candidates_(candidates),
        trial_(trial) {}

  // Finds targets for the request that PreemptionCandidates::Begin got. The caller has begun a
  // what-if.
  PreemptionTargets Find();

 private:
  // The remaining candidates of one queue. The first rule walks the queue's list, the second the
  // candidates that the first refused.
  struct QueueCandidates {
    ClusterQueueId queue = -1;
    NodeId leaf = kNoQuotaNode;
    api::PreemptionPolicy policy = api::PreemptionPolicy::kNever;
    const std::vector<ListedReservation>* list =
        nullptr;  // null: candidates are in `left` (second rule, or order by usage)
    std::vector<const Reservation*> left;
    std::vector<const Reservation*> refused;
    std::size_t next = 0;
    bool pruned = false;

    bool empty() const { return next == (list != nullptr ? list->size() : left.size()); }
    const Reservation& front() const {
      return list != nullptr ? *(*list)[next].reservation : *left[next];
    }
  };
  struct Shares {
    DominantShare preemptor;
    DominantShare target;
  };
  void Collect();
  void CollectQueue(const QueueState& queue, ClusterQueueId id, api::PreemptionPolicy policy);
  const Reservation& TakeNext(QueueCandidates& candidates);
  QueueCandidates* NextQueue();
  QueueCandidates* NextQueueBelow(NodeId cohort);
  NodeId BestChild(NodeId cohort, QueueCandidates*& found);
  QueueCandidates* CandidatesAt(NodeId leaf);
  bool IsPruned(NodeId cohort) const {
    const auto slot = static_cast<std::size_t>(cohort);
    return slot < pruned_in_.size() && pruned_in_[slot] == round_;
  }
  void Prune(NodeId cohort) {
    const auto slot = static_cast<std::size_t>(cohort);
    if (slot >= pruned_in_.size()) pruned_in_.resize(slot + 1, 0);
    pruned_in_[slot] = round_;
  }
  bool OnOwnPath(NodeId cohort) const;
  NodeId BelowCommonAncestor(NodeId from, NodeId common) const;
  NodeId CommonAncestor(NodeId leaf) const;
  Shares SharesOf(const QueueCandidates& target);
  DominantShare ShareWithout(const QueueCandidates& target, const Reservation& candidate);
  bool Take(const Reservation& candidate, PreemptionReason reason);
  bool FirstRule();
  bool SecondRule();
  void SpareRefused();  // call only if there is no second rule

  ClusterState& state_;
  const FeatureGates& gates_;
  const FairSharing& config_;
  DominantShares& shares_;
  PreemptionCandidates& candidates_;
  PreemptionTrial& trial_;
  std::vector<QueueCandidates> queues_;  // the first queue_count_ elements are in use
  std::size_t queue_count_ = 0;
  std::vector<std::int32_t> queue_slots_;  // by node: index in queues_, -1 none
  // The last round of the search that found no candidate left below the cohort, by node.
  std::vector<std::uint64_t> pruned_in_;
  std::uint64_t round_ = 0;
  std::vector<NodeId> open_nodes_;  // scratch
};

}  // namespace berth::admission

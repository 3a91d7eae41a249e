// admission/preemption.h — who has to go so that one workload fits.
//
// Classical: candidates are taken in order (told to stop already; from other queues, those the
// preemptor has a hierarchical advantage over first; own queue; lower priority, later reservation)
// until it fits; then, from the last to the first, who is not needed is put back.
// Fair sharing: candidates are taken from the queue with the highest share at each level of the
// tree as long as the rules allow it; then likewise.
//
// Everything is a what-if on the quota tree, rolled back before returning.
//
// Threads: one. Errors: none; nobody to take is an answer.
// Source: Kueue KEP-83, KEP-1337, KEP-1714, pkg/scheduler/preemption.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/decision.h"
#include "admission/dominant_share.h"
#include "admission/feature_gates.h"
#include "admission/flavor_assigner.h"
#include "admission/usage_ledger.h"

namespace berth::admission {

enum class FairSharingRule : std::uint8_t { kLessThanOrEqualToFinalShare, kLessThanInitialShare };

struct FairSharing {
  std::vector<FairSharingRule> rules = {FairSharingRule::kLessThanOrEqualToFinalShare,
                                        FairSharingRule::kLessThanInitialShare};
};

struct PreemptionRequest {
  const queue::WorkloadInfo* workload = nullptr;
  ClusterQueueId queue = -1;
  Usage usage;                                 // what has to fit
  SmallVector<FlavorResourceId, 2> contested;  // of these, what needs preemption
  std::vector<PlacementRequest> placements;    // pods that need room on nodes as well
  friend bool operator==(const PreemptionRequest&, const PreemptionRequest&) = default;
};

struct PreemptionTarget {
  const Reservation* reservation = nullptr;
  PreemptionReason reason = PreemptionReason::kInClusterQueue;
};

using PreemptionTargets = SmallVector<PreemptionTarget, 2>;

class PreemptionSearch {
 public:
  PreemptionSearch(ClusterState& state, const FeatureGates& gates,
                   const std::optional<FairSharing>& fair_sharing)
      : state_(state), gates_(gates), fair_sharing_(fair_sharing), shares_(state) {}

  // Empty: nobody can make enough room. The first candidates that were looked at and not taken go
  // to `spared` if that is not null.
  PreemptionTargets Find(const PreemptionRequest& request, SparedCandidates* spared);

  // Those of `victims`, on their way out already, that still have to go until the request fits;
  // empty: it does not even when all have gone.
  PreemptionTargets Keep(const PreemptionRequest& request,
                         const SmallVector<WorkloadId, 2>& victims);

  // Reservations that do not count as candidates, because the caller has taken them out already.
  void Exclude(const Reservation& reservation);
  void ExcludeNone() { ExcludeFirst(0); }
  // Takes exclusions back until `count` are left.
  void ExcludeFirst(std::size_t count);
  std::size_t excluded_count() const { return excluded_.size(); }
  bool IsExcluded(const Reservation& reservation) const {
    const auto slot = static_cast<std::size_t>(reservation.workload);
    return slot < is_excluded_.size() && is_excluded_[slot] != 0;
  }

  DominantShares& shares() { return shares_; }

  // Admission fair sharing: of one ClusterQueue's candidates those go first whose LocalQueue used
  // most. `ledger` outlives this object.
  void UseLedger(const UsageLedger* ledger) { ledger_ = ledger; }

 private:
  // How a candidate may be taken.
  enum class Variant : std::uint8_t {
    kNever,
    kWithinQueue,
    kHierarchicalReclaim,
    kReclaimWithoutBorrowing,
    kReclaimWhileBorrowing,
  };
  struct Candidate {
    const Reservation* reservation = nullptr;
    NodeId common_ancestor = kNoQuotaNode;
    ClusterQueueId queue = -1;
    std::int64_t priority = 0;
    bool evicted = false;
  };
  // A queue's list of reservations, walked in order past those that are no candidates.
  struct Cursor {
    const std::vector<Held>* list = nullptr;
    std::size_t next = 0;  // a candidate, or the end
    ClusterQueueId queue = -1;
    NodeId common_ancestor = kNoQuotaNode;
    api::PreemptionPolicy policy = api::PreemptionPolicy::kNever;

    const Held& front() const { return (*list)[next]; }
    bool done() const { return next == list->size(); }
  };
  // The candidates of several queues in one order, merged as far as somebody looks.
  struct Stream {
    std::vector<Cursor> open;  // a heap, first on top
    std::vector<Candidate> merged;

    void Clear() {
      open.clear();
      merged.clear();
    }
  };
  // What the queues below a root cohort have for a member that may reclaim from any of them is the
  // same for all such members until usage changes: of a cycle's heads the first one collects it.
  // Each passes over its own queue's.
  struct SharedStream {
    std::uint64_t usage_version = 0;  // of the quota tree
    std::uint64_t exclusions = 0;
    SmallVector<FlavorResourceId, 2> contested;
    Stream stream;
  };
  enum class Borrowing : std::uint8_t { kAllowed, kForbidden };

  bool Contests(const Held& held) const;
  bool PolicyAllows(const Held& candidate, api::PreemptionPolicy policy) const;
  // The first candidate at or behind `from` in the list.
  std::size_t FindCandidate(const std::vector<Held>& list, std::size_t from,
                            api::PreemptionPolicy policy) const;
  bool WithinNominal(NodeId node) const;
  bool WorkloadFits(Borrowing borrowing) const;
  void Spare(const Reservation& candidate, SparedCandidate::Cause cause);
  // Notes those that nothing but the policy keeps from being candidates.
  void SpareByPolicy(const std::vector<Held>& list, api::PreemptionPolicy policy);
  void PutBackUnneeded(PreemptionTargets& targets, Borrowing borrowing);
  void Take(const Reservation& reservation);
  void GiveBack(const Reservation& reservation);

  double LocalQueueUsage(const Reservation& candidate) const;
  // Puts `list`, in the order candidates are taken in, into the one that `ledger_` makes.
  template <typename T, typename ReservationOf>
  void OrderByUsage(std::vector<T>& list, ReservationOf reservation_of) const;

  // Classical.
  PreemptionTargets FindClassical();
  void CollectClassical();
  void CollectOthers();
  void CollectSubtree(NodeId cohort, NodeId subtree, NodeId skip, Stream& stream);
  void CollectQueue(ClusterQueueId queue, NodeId subtree, api::PreemptionPolicy policy,
                    Stream& stream);
  // Null where the candidates of others are not the same for all members of the queue's cohort.
  Stream* StreamOfCohort();
  bool IsOwn(const Candidate& candidate) const { return candidate.queue == request_->queue; }
  bool HasOthers(const Stream& stream) const;  // candidates of other queues
  // null: there are not so many.
  const Candidate* CandidateAt(Stream& stream, std::size_t index);
  Variant Classify(const Candidate& candidate, const Stream& stream) const;
  std::optional<SparedCandidate::Cause> WhyInvalid(const Candidate& candidate, Variant variant,
                                                   Borrowing borrowing) const;
  bool TryCandidate(const Candidate& candidate, Variant variant, Borrowing borrowing);
  bool TryInOrder(Borrowing borrowing);
  std::optional<PreemptionTargets> Attempt(Borrowing borrowing);

  // Fair sharing: what is left to take of each queue, and which queue is next. The first rule walks
  // the queue's list, the second what the first has refused.
  struct QueueCandidates {
    ClusterQueueId queue = -1;
    NodeId leaf = kNoQuotaNode;
    api::PreemptionPolicy policy = api::PreemptionPolicy::kNever;
    const std::vector<Held>* list = nullptr;  // null: `left`, in the second rule or by usage
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
  PreemptionTargets FindFair();
  void CollectFair();
  void CollectFairQueue(const QueueState& queue, ClusterQueueId id, api::PreemptionPolicy policy);
  const Reservation& TakeNext(QueueCandidates& candidates);
  QueueCandidates* NextQueue();
  QueueCandidates* NextQueueBelow(NodeId cohort);
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
  bool TakeFair(const Reservation& candidate, PreemptionReason reason);
  bool FirstRule();
  bool SecondRule();
  void SpareRefused();  // where there is but one rule

  ClusterState& state_;
  const FeatureGates& gates_;
  const std::optional<FairSharing>& fair_sharing_;
  DominantShares shares_;
  const UsageLedger* ledger_ = nullptr;
  std::vector<const Reservation*> excluded_;
  std::vector<std::uint8_t> is_excluded_;  // by WorkloadId
  std::uint64_t exclusions_ = 0;           // grows with every change of the two

  // Of the search under way.
  const PreemptionRequest* request_ = nullptr;
  const QueueState* queue_ = nullptr;
  SparedCandidates* spared_ = nullptr;
  PreemptionTargets targets_;
  Stream own_;
  Stream hierarchical_;
  Stream by_priority_;
  // The candidates of other queues: those two, or one of a cohort.
  Stream* advantaged_ = &hierarchical_;  // the preemptor has an advantage over them
  Stream* others_ = &by_priority_;
  std::vector<SharedStream> cohort_streams_;  // by node
  std::vector<QueueCandidates> queues_;       // the first queue_count_ of them
  std::size_t queue_count_ = 0;
  std::vector<std::int32_t> queue_slots_;  // by node: index in queues_, -1 none
  // By node: the last round of a search in which the cohort was found to have nothing to give.
  std::vector<std::uint64_t> pruned_in_;
  std::uint64_t round_ = 0;
  std::vector<NodeId> open_nodes_;  // scratch
};

template <typename T, typename ReservationOf>
void PreemptionSearch::OrderByUsage(std::vector<T>& list, ReservationOf reservation_of) const {
  if (ledger_ == nullptr) return;
  std::map<ClusterQueueId, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const ClusterQueueId queue = reservation_of(list[i]).cluster_queue;
    if (state_.queue(queue).spec.usage_based_admission_fair_sharing) places[queue].push_back(i);
  }
  for (const auto& [queue, slots] : places) {
    std::vector<std::pair<double, T>> members;
    for (const std::size_t slot : slots) {
      members.emplace_back(LocalQueueUsage(reservation_of(list[slot])), list[slot]);
    }
    std::stable_sort(members.begin(), members.end(), [&](const auto& a, const auto& b) {
      const bool evicted = reservation_of(a.second).evicted;
      if (evicted != reservation_of(b.second).evicted) return evicted;
      return a.first > b.first;
    });
    for (std::size_t i = 0; i < slots.size(); ++i) list[slots[i]] = members[i].second;
  }
}

// Asks the search for one workload.
class SearchOracle : public PreemptionOracle {
 public:
  SearchOracle(PreemptionSearch& search, ClusterState& state, const queue::WorkloadInfo& workload,
               ClusterQueueId queue)
      : search_(search), state_(state), workload_(workload), queue_(queue) {}

  Answer Simulate(FlavorResourceId flavor_resource, Amount amount) override;

  // The targets for `request`; what the last Simulate found, where it asked for the same.
  PreemptionTargets Targets(const PreemptionRequest& request, SparedCandidates* spared);

 private:
  PreemptionSearch& search_;
  ClusterState& state_;
  const queue::WorkloadInfo& workload_;
  ClusterQueueId queue_;
  struct Memory {
    PreemptionRequest request;
    std::uint64_t version = 0;
    PreemptionTargets targets;
    SparedCandidates spared;
  };
  std::optional<Memory> last_;
};

}  // namespace berth::admission

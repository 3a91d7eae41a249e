// admission/preemption/classical_preemption.h — chooses preemption targets without fair sharing.
//
// Candidates are taken in order until the workload fits: evicted ones; then those of other queues,
// first where the preemptor has a hierarchical advantage; then those of the preemptor's own queue.
// Afterwards targets that the workload does not need are put back.
//
// Threads: one. Errors: none; an empty answer: no set of candidates makes enough room.
// Source: Kueue KEP-83, KEP-1337, pkg/scheduler/preemption (classical).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/preemption/preemption_candidates.h"
#include "admission/preemption/preemption_trial.h"

namespace berth::admission {

class ClassicalPreemption {
 public:
  ClassicalPreemption(ClusterState& state, PreemptionCandidates& candidates, PreemptionTrial& trial)
      : state_(state), candidates_(candidates), trial_(trial) {}

  // Finds targets for the request that PreemptionCandidates::Begin got. The caller has begun a
  // what-if.
  PreemptionTargets Find();

 private:
  // The terms on which a candidate may be taken.
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
  // A position in a queue's list of reservations that skips reservations that are no candidates.
  struct Cursor {
    const std::vector<ListedReservation>* list = nullptr;
    std::size_t next = 0;  // a candidate's index, or the end
    ClusterQueueId queue = -1;
    NodeId common_ancestor = kNoQuotaNode;
    api::PreemptionPolicy policy = api::PreemptionPolicy::kNever;

    const ListedReservation& front() const { return (*list)[next]; }
    bool done() const { return next == list->size(); }
  };
  // The candidates of several queues in one order, merged on demand.
  struct Stream {
    std::vector<Cursor> open;  // a heap, best candidate on top
    std::vector<Candidate> merged;

    void Clear() {
      open.clear();
      merged.clear();
    }
  };
  // All members that may reclaim from any queue below a root cohort have the same candidates there,
  // until usage changes. The first head of a cycle collects the candidates for all of them. Each
  // member skips the candidates of its own queue.
  struct SharedStream {
    std::uint64_t usage_version = 0;  // usage version of the quota tree
    std::uint64_t exclusions = 0;
    SmallVector<FlavorResourceId, 2> contested;
    Stream stream;
  };
  enum class Order { kNewestFirst, kLeastWorkFirst };
  double WorkLost(const PreemptionTargets& targets) const;
  PreemptionTargets FindInOrder(Order order);
  void Collect(Order order);
  void CollectOthers();
  void CollectSubtree(NodeId cohort, NodeId subtree, NodeId skip, Stream& stream);
  void CollectQueue(ClusterQueueId queue, NodeId subtree, api::PreemptionPolicy policy,
                    Stream& stream);
  // Null where the candidates in other queues differ between the members of the queue's cohort.
  Stream* StreamOfCohort();
  bool IsOwn(const Candidate& candidate) const {
    return candidate.queue == candidates_.request().queue;
  }
  bool HasOthers(const Stream& stream) const;  // candidates in other queues
  // null: the stream has fewer candidates
  const Candidate* CandidateAt(Stream& stream, std::size_t index);
  Variant Classify(const Candidate& candidate, const Stream& stream) const;
  std::optional<SparedCandidate::Cause> WhyInvalid(const Candidate& candidate, Variant variant,
                                                   Borrowing borrowing) const;
  bool TryCandidate(const Candidate& candidate, Variant variant, Borrowing borrowing);
  // Whether the workload's queue could be within its nominal quota, if it lost all its candidates.
  bool CanStayWithinNominal() const;
  bool TryInOrder(Borrowing borrowing);
  std::optional<PreemptionTargets> Attempt(Borrowing borrowing);

  ClusterState& state_;
  PreemptionCandidates& candidates_;
  PreemptionTrial& trial_;
  Stream own_;
  Stream hierarchical_;
  Stream by_priority_;
  // Candidates in other queues: two streams of the preemptor's own, or one of the cohort.
  Stream* advantaged_ = &hierarchical_;  // queues that the preemptor has an advantage over
  Stream* others_ = &by_priority_;
  std::vector<SharedStream> cohort_streams_;  // by node
  std::vector<NodeId> open_nodes_;            // scratch
};

}  // namespace berth::admission

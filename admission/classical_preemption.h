// admission/classical_preemption.h — whom to preempt without fair sharing.
//
// Candidates are taken in order until the workload fits: those told to stop already; from other
// queues, those first over which the preemptor has a hierarchical advantage; those of its own
// queue. Then the ones that are not needed are put back.
//
// Threads: one. Errors: none; an empty answer: nobody can make enough room.
// Source: Kueue KEP-83, KEP-1337, pkg/scheduler/preemption (classical).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/preemption_candidates.h"
#include "admission/preemption_trial.h"

namespace berth::admission {

class ClassicalPreemption {
 public:
  ClassicalPreemption(ClusterState& state, PreemptionCandidates& candidates, PreemptionTrial& trial)
      : state_(state), candidates_(candidates), trial_(trial) {}

  // For the request that the candidates were begun with, inside a what-if of the caller.
  PreemptionTargets Find();

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
    const std::vector<ListedReservation>* list = nullptr;
    std::size_t next = 0;  // a candidate, or the end
    ClusterQueueId queue = -1;
    NodeId common_ancestor = kNoQuotaNode;
    api::PreemptionPolicy policy = api::PreemptionPolicy::kNever;

    const ListedReservation& front() const { return (*list)[next]; }
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
  void Collect();
  void CollectOthers();
  void CollectSubtree(NodeId cohort, NodeId subtree, NodeId skip, Stream& stream);
  void CollectQueue(ClusterQueueId queue, NodeId subtree, api::PreemptionPolicy policy,
                    Stream& stream);
  // Null where the candidates of others are not the same for all members of the queue's cohort.
  Stream* StreamOfCohort();
  bool IsOwn(const Candidate& candidate) const {
    return candidate.queue == candidates_.request().queue;
  }
  bool HasOthers(const Stream& stream) const;  // candidates of other queues
  // null: there are not so many.
  const Candidate* CandidateAt(Stream& stream, std::size_t index);
  Variant Classify(const Candidate& candidate, const Stream& stream) const;
  std::optional<SparedCandidate::Cause> WhyInvalid(const Candidate& candidate, Variant variant,
                                                   Borrowing borrowing) const;
  bool TryCandidate(const Candidate& candidate, Variant variant, Borrowing borrowing);
  bool TryInOrder(Borrowing borrowing);
  std::optional<PreemptionTargets> Attempt(Borrowing borrowing);

  ClusterState& state_;
  PreemptionCandidates& candidates_;
  PreemptionTrial& trial_;
  Stream own_;
  Stream hierarchical_;
  Stream by_priority_;
  // The candidates of other queues: those two, or one of a cohort.
  Stream* advantaged_ = &hierarchical_;  // the preemptor has an advantage over them
  Stream* others_ = &by_priority_;
  std::vector<SharedStream> cohort_streams_;  // by node
  std::vector<NodeId> open_nodes_;            // scratch
};

}  // namespace berth::admission

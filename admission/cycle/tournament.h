// admission/cycle/tournament.h — fair sharing: the order among the heads of a cohort tree.
//
// At each cohort, from the bottom, every child offers its best entry; the winner is the entry whose
// child node would have the lowest share with the entry's usage. Compared before shares: preemptors
// with freed quota (own rule, or gate), then entries whose child would not borrow (gate). Compared
// after shares: priority, queue-order instant. Between equals an entry of a child cohort goes
// before one of a child queue, and of two entries whose children are of the same kind, the entry
// that was added first.
//
// A cohort caches its children's offers. After a turn only the cohorts above the winner compare
// again, and ask only the child on that path again, so a turn costs the path, and not the queues
// and cohorts beside the path.
//
// Threads: one. Errors: none.
// Source: Kueue KEP-1714, pkg/scheduler/fair_sharing_iterator.go.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/feature_gates.h"
#include "admission/quota/dominant_share.h"
#include "queue/workload_info.h"

namespace berth::admission {

class Tournament {
 public:
  struct Entrant {
    std::size_t index = 0;  // index in the caller's list
    ClusterQueueId queue = -1;
    const queue::WorkloadInfo* workload = nullptr;
    const Usage* usage = nullptr;  // must outlive the tournament
    bool goes_first = false;       // waits for its own preemptions alone
  };

  Tournament(ClusterState& state, const FeatureGates& gates, DominantShares& shares)
      : state_(state), gates_(gates), shares_(shares) {}

  // Prepares another cycle. The cost is the number of entries of the last cycle, not the number of
  // queues.
  void Clear();
  void Add(const Entrant& entrant);  // at most one entrant of each queue
  // The next entrant to process, with the present usage of the tree; nullopt after the last.
  // Between two calls only the usage of the last winner's queue may change.
  std::optional<std::size_t> Next();
  // Removes the queue's entrant, which the caller processes out of turn.
  void Withdraw(ClusterQueueId queue);

 private:
  // An entrant's path at one cohort: the figures of the child on the path.
  struct Standing {
    NodeId cohort = kNoQuotaNode;
    NodeId node = kNoQuotaNode;  // the child
    DominantShare share;
    std::uint64_t version = 0;  // version of the child's usage
    bool borrows = false;
  };
  struct Slot {
    Entrant entrant;
    NodeId leaf = kNoQuotaNode;
    SmallVector<Standing, 2> standings;
    bool out = false;
  };
  // The figures by which two entrants are compared at one cohort.
  struct Rank {
    bool goes_first = false;
    bool borrows = false;
    DominantShare share;
    const queue::WorkloadInfo* workload = nullptr;
  };
  // The best entrant of a child cohort.
  struct Offer {
    Rank rank;
    std::int32_t slot = kNobody;
    NodeId cohort = kNoQuotaNode;
    std::uint32_t number = 0;  // the offer is valid while this is the cohort's latest number
  };
  struct Bracket {
    // The entrants of the child queues, best first once sorted. The order is stable: a queue's
    // share depends on its own usage, which only its own entry changes.
    std::vector<std::int32_t> slots;
    std::size_t next = 0;
    std::vector<Offer> offers;        // a heap, best offer on top
    std::vector<NodeId> to_be_asked;  // child cohorts without a valid offer
    std::size_t level = 0;            // 0: the root
    std::int32_t best = kNobody;
    std::uint32_t last_offer = 0;
    bool used = false;
    bool sorted = false;
    bool settled = false;  // `best` is valid
  };
  static constexpr std::int32_t kNobody = -1;

  Slot& slot(std::int32_t number) { return slots_[static_cast<std::size_t>(number)]; }
  Bracket& bracket(NodeId cohort) { return brackets_[static_cast<std::size_t>(cohort)]; }
  bool StandingsHold(const Slot& slot) const;
  void ComputeStandings(Slot& slot);
  void Use(NodeId cohort);
  std::int32_t BestLeaf(NodeId cohort);
  std::int32_t Best(NodeId cohort);
  void AskAgain(NodeId leaf);
  void SettleCohort(NodeId cohort);
  Rank RankAt(const Slot& slot, NodeId cohort);
  // Returns a negative number where `a` goes first.
  int Compare(const Rank& a, const Rank& b) const;
  bool Before(const Offer& a, const Offer& b) const;

  ClusterState& state_;
  const FeatureGates& gates_;
  DominantShares& shares_;
  std::vector<Slot> slots_;
  std::vector<std::int32_t> slot_of_leaf_;  // by node; kNobody: none
  std::vector<Bracket> brackets_;           // by cohort
  std::vector<NodeId> used_brackets_;
  std::vector<NodeId> open_;  // scratch
  std::size_t first_left_ = 0;
};

}  // namespace berth::admission

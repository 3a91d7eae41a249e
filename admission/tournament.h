// admission/tournament.h — fair sharing: whose turn it is among the heads of a cohort tree.
//
// At each cohort, from the bottom, every child offers its best entry; the one wins whose child node
// would have the lowest share with the entry's usage counted in. Before shares count: preemptors
// that have what they freed (own rule, or gate), then entries whose child does not borrow what they
// ask for (gate). After them: priority, queue-order instant. Where all is equal, an entry of a
// child cohort goes before one of a child queue, and of two alike the one that was added first.
//
// A cohort keeps what its children offered. After a turn only the cohorts above the winner ask
// again, and of their children only the one on that path, so a turn costs the path, and not the
// queues and cohorts beside it.
//
// Threads: one. Errors: none.
// Source: Kueue KEP-1714, pkg/scheduler/fair_sharing_iterator.go.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/dominant_share.h"
#include "admission/feature_gates.h"
#include "queue/workload_info.h"

namespace berth::admission {

class Tournament {
 public:
  struct Entrant {
    std::size_t index = 0;  // the caller's
    ClusterQueueId queue = -1;
    const queue::WorkloadInfo* workload = nullptr;
    const Usage* usage = nullptr;  // outlives the tournament
    bool goes_first = false;       // what it waits for are its own preemptions
  };

  Tournament(ClusterState& state, const FeatureGates& gates, DominantShares& shares)
      : state_(state), gates_(gates), shares_(shares) {}

  // For another cycle; costs what was in the last one, not what there are queues.
  void Clear();
  void Add(const Entrant& entrant);  // one a queue
  // The next one to process, with usage as the tree has it now; nullopt when all have been. Between
  // two calls no usage but that of the last winner's queue may change.
  std::optional<std::size_t> Next();
  // The entrant of that queue is processed out of turn, now: it is no more the next one.
  void Withdraw(ClusterQueueId queue);

 private:
  // What an entrant's path looks like at one cohort: of the child below it on the path.
  struct Standing {
    NodeId cohort = kNoQuotaNode;
    NodeId node = kNoQuotaNode;  // that child
    DominantShare share;
    std::uint64_t version = 0;  // of the child's usage
    bool borrows = false;
  };
  struct Slot {
    Entrant entrant;
    NodeId leaf = kNoQuotaNode;
    SmallVector<Standing, 2> standings;
    bool out = false;
  };
  // What two entrants are compared by at one cohort.
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
    std::uint32_t number = 0;  // the offer holds while it is the cohort's last one
  };
  struct Bracket {
    // The entrants of the queues right below, best first once sorted. Their order does not change:
    // a queue's share depends on its own usage, and that only its own entry changes.
    std::vector<std::int32_t> slots;
    std::size_t next = 0;
    std::vector<Offer> offers;        // a heap, the best first
    std::vector<NodeId> to_be_asked;  // cohorts right below
    std::size_t level = 0;            // 0: the root
    std::int32_t best = kNobody;
    std::uint32_t last_offer = 0;
    bool used = false;
    bool sorted = false;
    bool settled = false;  // `best` holds
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
  // Negative: a goes first.
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

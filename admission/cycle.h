// admission/cycle.h — one scheduling cycle: takes heads and decides on each.
//
//     heads ─▶ nominate (flavors, victims) ─▶ order ─▶ process one by one ─▶ Decisions
//
// Order: classical, by borrowing height, priority, queue-order instant, name of the queue; fair
// sharing, by a tournament down the cohort tree for each next entry. Workloads that have quota and
// lack nodes go first, in the classical order and then by name. Processing an entry counts its
// usage for later entries until the end of the cycle; then the quota tree is restored, and the
// caller carries the decisions out.
//
// Threads: one. Errors: none.
// Source: Kueue pkg/scheduler (schedule, nominate, processEntry, fairSharingIterator), KEP-1714.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/cycle_preemptions.h"
#include "admission/decision.h"
#include "admission/feature_gates.h"
#include "admission/flavor_assigner.h"
#include "admission/own_rules.h"
#include "admission/preemption.h"
#include "admission/preemption_history.h"
#include "admission/tournament.h"
#include "queue/queue_set.h"

namespace berth::admission {

// A head with the facts that the cycle needs.
struct HeadInput {
  queue::Head head;
  const queue::WorkloadInfo* workload = nullptr;
  const ScanState* scan = nullptr;  // null: no scan is under way
  // The head's own preemptions are under way, and the gate PrioritizePreemptorWorkloads is on.
  bool waits_for_preemption = false;
  const PreemptionPlan* plan = nullptr;   // null: the head has no preemption plan
  const Reservation* reserved = nullptr;  // not null: has quota, lacks nodes (second pass)
  const Reservation* replaces = nullptr;  // the slice whose quota it takes over; null: none
};

class Cycle {
 public:
  struct Context {
    ClusterState& state;
    queue::QueueSet& queues;
    const FeatureGates& gates;
    const OwnRules& own_rules;
    PreemptionSearch& search;
    const PreemptionHistory& history;
    bool fair_sharing = false;
    bool one_at_a_time = false;  // SchedulerConfig::block_admission
    bool ignore_undeclared_resources = false;
  };
  explicit Cycle(const Context& context)
      : context_(context),
        preemptions_(context.state),
        tournament_(context.state, context.gates, context.search.shares()) {}

  // Fills `decisions`: in processing order, then the heads never nominated, by namespace and name.
  // `to` is not filled in. `number`: the cycle's number.
  void Run(std::int64_t number, const std::vector<HeadInput>& heads, DecisionList& decisions);

 private:
  struct Entry {
    HeadInput input;
    Decision& decision;  // element of the DecisionList
    PreemptionTargets targets;
    std::vector<PlacedPods> placed;  // room on nodes beyond that of its reservation
    bool was_held_back = false;      // by OwnRules::no_preemption_in_return
    bool done = false;               // processed
  };
  // The fields that order entries, contiguous in memory.
  struct EntryOrder {
    bool holds_quota = false;
    bool goes_first = false;
    std::int32_t borrow_height = 0;
    std::int64_t priority = 0;  // 0 where priority does not count
    WallTime queued_at{};
    Entry* entry = nullptr;
  };
  enum class Room : std::uint8_t { kEnough, kNoQuota, kNoNodes };
  struct UsageAt {
    NodeId leaf = kNoQuotaNode;
    const Usage* usage = nullptr;
  };
  // The entries of one tree that have plans, and the entries that may go before one of them.
  struct PlansOfTree {
    std::vector<Entry*> holders;
    std::vector<std::int64_t> priorities;  // priorities of the holders, rising
    // Entries with plans, by the UIDs of their victims; WorkloadIds are reused.
    std::map<std::string_view, SmallVector<const Entry*, 1>> freed_by;
    std::vector<EntryOrder> above;  // heads of higher priority that can fit, in order
    std::int64_t highest = 0;       // highest priority in `above`
    // Indices in `above`: all, by leaf; the heads to test at the next plan; the heads that need a
    // plan's quota, by the holder of the plan.
    std::map<NodeId, std::size_t> by_leaf;
    std::set<std::size_t> untested;
    std::map<const Entry*, std::vector<std::size_t>> needing;
  };

  Remark WhyNotNominated(const HeadInput& head) const;
  void Expect(const HeadInput& head) const;
  void Nominate(const HeadInput& head);
  void AssignFlavors(Entry& entry, const ScanState* scan, const Assignment* nominated);
  void Choose(Entry& entry, const ScanState* scan, const Assignment* nominated);
  // Preemption plans (cycle_plans.cc).
  void KeepToPlan(Entry& entry);
  bool IsAsPlanned(const Entry& entry) const;
  void IndexPlans();
  void ProcessThoseAbove(const Entry& holder);
  bool MayFit(const Entry& head);
  bool HasRoomBesidePlans(const PlansOfTree& plans, Entry& head);
  void CountPlans(const PlansOfTree& plans, std::int64_t priority);
  const Entry* HolderOf(const PlansOfTree& plans, const api::Workload& victim,
                        const Entry& head) const;
  const Entry* HolderOfWhatItNeeds(const PlansOfTree& plans, const Entry& head) const;
  void NoteProcessed(const Entry& entry);
  void TestAgainBelow(PlansOfTree& plans, NodeId node);
  void TestAgainForNodes();
  bool IsCoveredBy(const Entry& entry, const std::vector<UsageAt>& released) const;
  std::vector<const Reservation*> NotToBeTaken(const Entry& entry,
                                               const std::vector<WorkloadId>& above) const;
  void SkipWithoutRoom(Entry& entry);
  void HoldBack(Entry& entry, const ScanState* scan, const Assignment* nominated);
  static bool GoesFirst(const Entry& entry) {
    return entry.input.waits_for_preemption || entry.input.plan != nullptr;
  }
  void TryPartially(Entry& entry, FlavorAssigner& assigner, WorkloadOracle& oracle);
  PreemptionRequest RequestFor(const Entry& entry, const Assignment& assignment) const;
  bool Before(const EntryOrder& a, const EntryOrder& b) const;
  EntryOrder OrderOf(Entry& entry) const;
  void ProcessInOrder();  // the entries of order_
  void RunClassical();
  void RunFair();
  void Process(Entry& entry);
  void ProcessNow(Entry& entry);
  void RecomputeOverlap(Entry& entry);
  bool Overlaps(const Entry& entry) const;
  // Nodes (cycle_nodes.cc).
  void PlacePreemptor(Entry& entry);
  bool MayBePlaced(const Entry& entry) const;
  void NotePlaced(Entry& entry);
  Room RoomFor(const Entry& entry);
  void RecomputeNodes(Entry& entry);
  bool LosesNodesToClaim(Entry& entry);
  void AssignAgain(Entry& entry);
  bool ProcessAgain(Entry& entry);
  void CountIn(const Entry& entry);
  bool MustWaitForPods() const;
  bool YieldsToBlocked(const Entry& entry) const;
  // Borrowers that were preempted for an owner (cycle_owners.cc).
  void NoteOwner(const Entry& entry);
  bool OwnersComeFirst(const Entry& entry) const;
  void ReserveForPreemptor(const Entry& entry);
  void Claim(const Entry& entry);
  void Skip(Entry& entry, Remark remark);
  void Preempt(Entry& entry);
  void Admit(Entry& entry);
  void FillVictims(Entry& entry);
  bool IsFair() const { return context_.fair_sharing; }

  Context context_;
  std::int64_t number_ = 0;  // number of the running cycle
  // Memory that every cycle reuses.
  std::vector<Entry> entries_;
  std::vector<EntryOrder> order_;
  std::vector<Decision*> never_nominated_;
  DecisionList* decisions_ = nullptr;  // the decisions of the running cycle
  CyclePreemptions preemptions_;
  std::map<NodeId, PlansOfTree> plans_;  // by root; computed for the first plan processed
  bool plans_indexed_ = false;
  Tournament tournament_;
  std::vector<const Entry*> owners_;  // that took their queue's own quota, with others behind them
  bool admitted_ = false;             // some entry was admitted in this cycle
};

}  // namespace berth::admission

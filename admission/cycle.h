// admission/cycle.h — one scheduling cycle: what becomes of each head now.
//
//     heads ─▶ nominate (flavors, victims) ─▶ order ─▶ process one by one ─▶ Decisions
//
// Order: classical, by borrowing height, priority, queue-order instant, name of the queue; fair
// sharing, by a tournament down the cohort tree for each next one. Those who have quota and lack
// nodes go first, in the classical order and then by name. Processing an entry counts its
// usage for those behind it, until the end of the cycle: then the quota tree is what it was, and
// the caller makes true what was decided.
//
// Threads: one. Errors: none.
// Source: Kueue pkg/scheduler (schedule, nominate, processEntry, fairSharingIterator), KEP-1714.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/cycle_preemptions.h"
#include "admission/decision.h"
#include "admission/feature_gates.h"
#include "admission/own_rules.h"
#include "admission/preemption.h"
#include "admission/preemption_history.h"
#include "admission/tournament.h"
#include "queue/queue_set.h"

namespace berth::admission {

// A head with what the cycle needs to know of it.
struct HeadInput {
  queue::Head head;
  const queue::WorkloadInfo* workload = nullptr;
  const ScanState* scan = nullptr;  // null: no scan under way
  // Its own preemptions are under way, and the gate PrioritizePreemptorWorkloads is on.
  bool waits_for_preemption = false;
  const PreemptionPlan* plan = nullptr;   // what it has preempted for, and keeps; null: nothing
  const Reservation* reserved = nullptr;  // it has quota and lacks nodes: second pass
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

  // Into `decisions`: in processing order, then the ones never nominated, by namespace and name.
  // `to` is not filled in. `number` is the cycle's.
  void Run(std::int64_t number, const std::vector<HeadInput>& heads, DecisionList& decisions);

 private:
  struct Entry {
    HeadInput input;
    Decision& decision;  // in the list
    PreemptionTargets targets;
    std::vector<PlacedPods> placed;  // what it takes of nodes beyond what it has
    bool was_held_back = false;      // from preempting in return
    bool done = false;               // processed
  };
  // What the order looks at, side by side.
  struct EntryOrder {
    bool holds_quota = false;
    bool goes_first = false;
    std::int32_t borrow_height = 0;
    std::int64_t priority = 0;  // 0: it does not count
    WallTime queued_at{};
    Entry* entry = nullptr;
  };
  enum class Room : std::uint8_t { kEnough, kNoQuota, kNoNodes };
  // The entries of one tree of cohorts that keep plans, and those that may go before one of them.
  struct PlansOfTree {
    std::vector<Entry*> holders;
    std::map<WorkloadId, SmallVector<const Entry*, 1>> freed_by;  // holders, by their victims
    std::int64_t lowest = 0;                                      // priority of the holders
    std::int64_t highest = 0;                                     // priority of those in `above`
    std::vector<EntryOrder> above;  // heads of higher priority that could be had, in order
  };

  Remark WhyNotNominated(const HeadInput& head) const;
  void Expect(const HeadInput& head) const;
  void Nominate(const HeadInput& head);
  void AssignFlavors(Entry& entry, const ScanState* scan, const Assignment* nominated);
  void Choose(Entry& entry, const ScanState* scan, const Assignment* nominated);
  // What preemptors keep (cycle_plans.cc).
  void KeepToPlan(Entry& entry);
  bool IsAsPlanned(const Entry& entry) const;
  void IndexPlans();
  void ProcessThoseAbove(const Entry& holder);
  void CountPlans(const PlansOfTree& plans, std::int64_t priority);
  bool TakesVictimOfPlan(const PlansOfTree& plans, const Entry& head) const;
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
  void ProcessInOrder();  // what is in order_
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
  void AssignAgain(Entry& entry);
  bool ProcessAgain(Entry& entry);
  void CountIn(const Entry& entry);
  bool MustWaitForPods() const;
  void ReserveForPreemptor(const Entry& entry);
  void Claim(const Entry& entry);
  void Skip(Entry& entry, Remark remark);
  void Preempt(Entry& entry);
  void Admit(Entry& entry);
  void FillVictims(Entry& entry);
  bool IsFair() const { return context_.fair_sharing; }

  Context context_;
  std::int64_t number_ = 0;  // of the run under way
  // Memory that is used again in each cycle.
  std::vector<Entry> entries_;
  std::vector<EntryOrder> order_;
  std::vector<Decision*> never_nominated_;
  DecisionList* decisions_ = nullptr;  // of the run under way
  CyclePreemptions preemptions_;
  std::map<NodeId, PlansOfTree> plans_;  // by root; made when the first plan is processed
  bool plans_indexed_ = false;
  Tournament tournament_;
  bool admitted_ = false;  // somebody, in this cycle
};

}  // namespace berth::admission

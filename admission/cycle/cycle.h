// admission/cycle/cycle.h — one scheduling cycle: takes heads and decides on each.
//
//     heads ─▶ nominate (flavors, victims) ─▶ order ─▶ process one by one ─▶ Decisions
//              nomination.h                   cycle_entry.h, tournament.h
//
// While entries are processed: room left and claims (cycle_room.h), victims (cycle_preemptions.h),
// plans that go first (cycle_plans.h), owners before borrowers (cycle_owners.h), parked workloads
// that go first (cycle_parked.h).
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
#include <vector>

#include "admission/cycle/cycle_entry.h"
#include "admission/cycle/cycle_owners.h"
#include "admission/cycle/cycle_parked.h"
#include "admission/cycle/cycle_plans.h"
#include "admission/cycle/cycle_preemptions.h"
#include "admission/cycle/cycle_room.h"
#include "admission/cycle/nomination.h"
#include "admission/cycle/tournament.h"
#include "admission/decision.h"

namespace berth::admission {

class Cycle {
 public:
  using Context = CycleContext;
  explicit Cycle(const Context& context)
      : context_(context),
        nomination_(context),
        preemptions_(context.state),
        room_(context, preemptions_),
        plans_(context, preemptions_, room_),
        owners_(context),
        parked_(context),
        tournament_(context.state, context.gates, context.search.shares()) {}
  Cycle(const Cycle&) = delete;
  Cycle& operator=(const Cycle&) = delete;

  // Fills `decisions`: in processing order, then the heads never nominated, by namespace and name.
  // `to` is not filled in. `number`: the cycle's number.
  void Run(std::int64_t number, const std::vector<HeadInput>& heads, DecisionList& decisions);

 private:
  Remark WhyNotNominated(const HeadInput& head) const;
  void Expect(const HeadInput& head) const;
  void Nominate(const HeadInput& head);
  void ProcessInOrder();  // the entries of order_
  void RunClassical();
  void RunFair();
  void Process(CycleEntry& entry);
  void ProcessThoseAbove(const CycleEntry& holder);
  void ProcessNow(CycleEntry& entry);
  bool ProcessAgain(CycleEntry& entry);
  bool Overlaps(const CycleEntry& entry) const;
  void RecomputeOverlap(CycleEntry& entry);
  void RecomputeNodes(CycleEntry& entry);
  bool LosesNodesToClaim(CycleEntry& entry);
  bool MustWaitForPods() const;
  bool YieldsToBlocked(const CycleEntry& entry) const;
  void Skip(CycleEntry& entry, Remark remark);
  void SkipWithoutRoom(CycleEntry& entry);
  void SkipForParked(CycleEntry& entry, Remark why);
  void SkipForPlace(CycleEntry& entry, const KeptPlace& place);
  bool PutsOff(CycleEntry& entry);
  bool LosesTooMuch(CycleEntry& entry);
  bool StopsJustAdmitted(CycleEntry& entry);
  void PutOff(CycleEntry& entry, Remark remark, WallTime until);
  void Preempt(CycleEntry& entry);
  void Admit(CycleEntry& entry);
  void FillVictims(CycleEntry& entry);
  bool IsFair() const { return context_.fair_sharing; }

  Context context_;
  // Memory that every cycle reuses.
  std::vector<CycleEntry> entries_;
  std::vector<EntryOrder> order_;
  std::vector<Decision*> never_nominated_;
  DecisionList* decisions_ = nullptr;  // the decisions of the running cycle
  Nomination nomination_;
  CyclePreemptions preemptions_;
  CycleRoom room_;
  CyclePlans plans_;
  CycleOwners owners_;
  CycleParked parked_;
  Tournament tournament_;
  bool admitted_ = false;  // some entry was admitted in this cycle
};

}  // namespace berth::admission

// admission/cycle/nomination.h — the flavors and the victims for one entry of a cycle.
//
//     flavors (flavor_assigner.h) ─▶ victims where quota is missing ─▶ fewer pods where allowed
//         ─▶ other victims where some may not be taken ─▶ nodes (entry_nodes.h)
//
// State does not change: what-ifs are rolled back.
//
// Threads: one. Errors: none; an entry without flavors or victims is an answer.
// Source: Kueue pkg/scheduler (nominate, getAssignments).
#pragma once

#include <cstdint>
#include <vector>

#include "admission/cycle/cycle_entry.h"
#include "admission/decision.h"
#include "admission/flavors/flavor_assigner.h"
#include "admission/preemption/preemption.h"

namespace berth::admission {

class Nomination {
 public:
  explicit Nomination(const CycleContext& context) : context_(context) {}

  // Begins the cycle with this number.
  void Begin(std::int64_t number) { number_ = number; }

  // Sets assignment, targets and nodes of the entry. `scan`: where the last attempt stopped; null:
  // the first flavor. `nominated`: allow only flavors of this earlier assignment; null: allow all.
  void AssignFlavors(CycleEntry& entry, const ScanState* scan, const Assignment* nominated);

  // Call after AssignFlavors for an entry with a preemption plan: if the result differs from the
  // plan's assignment, assigns again for that assignment alone. A plan that cannot fit any more
  // ends: the entry has no plan afterwards.
  void KeepToPlan(CycleEntry& entry);

 private:
  void Choose(CycleEntry& entry, const ScanState* scan, const Assignment* nominated);
  void TryPartially(CycleEntry& entry, FlavorAssigner& assigner, WorkloadOracle& oracle);
  PreemptionRequest RequestFor(const CycleEntry& entry, const Assignment& assignment) const;
  void AssignAgain(CycleEntry& entry);
  bool IsAsPlanned(const CycleEntry& entry) const;
  std::vector<const Reservation*> NotToBeTaken(const CycleEntry& entry,
                                               const std::vector<WorkloadId>& above) const;
  void HoldBack(CycleEntry& entry, const ScanState* scan, const Assignment* nominated);

  CycleContext context_;
  std::int64_t number_ = 0;  // the number of the running cycle
};

}  // namespace berth::admission

// admission/cycle_owners.h — the rule owners-before-returning-borrowers (own_rules.h) in one cycle:
// queues that take quota of their own back, and borrowers that were preempted for it.
//
// Threads: one. Errors: none.
#pragma once

#include <vector>

#include "admission/cycle_entry.h"

namespace berth::admission {

class CycleOwners {
 public:
  explicit CycleOwners(const CycleContext& context) : context_(context) {}

  // Call for each admitted entry; entries live until Clear.
  void NoteAdmitted(const CycleEntry& entry);
  // Whether a queue of the cohort takes quota of its own back in this cycle and has more workloads
  // to try: the next one would preempt the borrower `entry`.
  bool GoBefore(const CycleEntry& entry) const;
  // Ends a cycle.
  void Clear() { owners_.clear(); }

 private:
  CycleContext context_;
  // The entries that took their queue's own quota, with others behind them.
  std::vector<const CycleEntry*> owners_;
};

}  // namespace berth::admission

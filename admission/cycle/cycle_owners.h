// admission/cycle/cycle_owners.h — the rule owners-before-borrowers (own_rules.h) in one cycle:
// queues that have quota of their own and move on to their next workload, and the borrowers that
// this workload would preempt (reclaimers.h).
//
// A queue moves on in a cycle where its head is admitted or parked, others are active behind the
// head, and the queue may reclaim. Every cycle that holds back a borrower takes a workload from the
// active ones of another queue, so that no cycle repeats.
//
// A cycle without borrowers costs a look at each admitted entry. A cycle with borrowers costs a
// look at each entry, and for each borrowed flavor-resource a look at each queue that moves on.
//
// Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "admission/cycle/cycle_entry.h"
#include "admission/cycle/reclaimers.h"

namespace berth::admission {

class CycleOwners {
 public:
  // A workload that is held back in so many cycles in a row goes on: a queue that is woken again
  // and again before all of its workloads are tried must not stop borrowers for ever.
  static constexpr std::int32_t kMostCycles = 1000;

  explicit CycleOwners(const CycleContext& context)
      : context_(context), reclaimers_(context.state) {}

  // Begins cycle `number`; all entries live until Clear.
  void Begin(std::int64_t number, const std::vector<CycleEntry>& entries);
  // Call for each admitted entry.
  void NoteAdmitted(const CycleEntry& entry);
  // Whether `entry`, which would be admitted, has to wait until owners of the quota that it borrows
  // have tried their workloads.
  bool GoBefore(const CycleEntry& entry);
  // Ends a cycle.
  void Clear();

 private:
  struct Held {
    WorkloadId workload = queue::kNoNode;
    std::int64_t cycle = 0;
    std::int32_t count = 0;  // cycles in a row, until `cycle`
  };

  bool MovesOn(const CycleEntry& entry) const;
  void Add(const CycleEntry& owner);
  void AddNew();
  bool CountHeld(const CycleEntry& entry);

  CycleContext context_;
  std::int64_t number_ = 0;
  const std::vector<CycleEntry>* entries_ = nullptr;  // null between cycles
  // Admitted entries that took their queue's own quota, with others behind them.
  std::vector<const CycleEntry*> owners_;
  std::size_t added_ = 0;  // how many of owners_ are in reclaimers_
  bool looked_at_parked_ = false;
  Reclaimers reclaimers_;
  std::map<ClusterQueueId, Held> held_back_;  // heads
};

}  // namespace berth::admission

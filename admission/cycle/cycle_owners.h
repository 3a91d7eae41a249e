// admission/cycle/cycle_owners.h — the rule owners-before-borrowers (own_rules.h) in one cycle:
// queues that have quota of their own and more workloads to try, and the borrowers that the next of
// these workloads would preempt.
//
// A queue moves on in a cycle where its head is admitted or parked, others are active behind the
// head, and the queue may reclaim. A borrower of the cycle is held back where its usage would leave
// less in a cohort above than the free quota of the members that move on. Every cycle that holds
// back a borrower takes a workload from the active ones of another queue, so that no cycle repeats.
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
#include "base/small_vector.h"

namespace berth::admission {

class CycleOwners {
 public:
  // A workload that is held back in so many cycles in a row goes on: a queue that is woken again
  // and again before all of its workloads are tried must not stop borrowers for ever.
  static constexpr std::int32_t kMostCycles = 1000;

  explicit CycleOwners(const CycleContext& context) : context_(context) {}

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
  // The members of a cohort that move on, or that have queues below which do.
  struct Members {
    std::vector<NodeId> queues;  // may reclaim from workloads of any priority
    Usage wanted;                // by `queues`; only flavor-resources that were asked for
    // Other members, with the priority below which workloads may be preempted.
    std::map<NodeId, std::int64_t> others;
  };
  struct Held {
    WorkloadId workload = queue::kNoNode;
    std::int64_t cycle = 0;
    std::int32_t count = 0;  // cycles in a row, until `cycle`
  };

  bool MovesOn(const CycleEntry& entry) const;
  void Add(const CycleEntry& owner);
  void AddNew();
  Amount FreeOf(NodeId node, FlavorResourceId fr) const;
  Amount WantedIn(NodeId cohort, NodeId except, FlavorResourceId fr, std::int64_t priority);
  bool WouldBeReclaimed(const CycleEntry& entry);
  bool CountHeld(const CycleEntry& entry);

  CycleContext context_;
  std::int64_t number_ = 0;
  const std::vector<CycleEntry>* entries_ = nullptr;  // null between cycles
  // Admitted entries that took their queue's own quota, with others behind them.
  std::vector<const CycleEntry*> owners_;
  std::size_t added_ = 0;  // how many of owners_ are in members_
  bool looked_at_parked_ = false;
  std::map<NodeId, Members> members_;         // by cohort
  std::map<ClusterQueueId, Held> held_back_;  // heads
};

}  // namespace berth::admission

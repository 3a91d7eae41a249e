// admission/cycle/cycle_parked.h — the rule parked-first (own_rules.h) in one cycle: parked
// workloads for which room has come free since they were tried.
//
//     parked: does not fit ──▶ quota is released ──▶ wake-up is requested ──▶ wake-up: tried again
//                                                      │
//                  a workload behind it, in this time: waits if the parked one fits
//
// Wake-ups are batched (controller/loop/cycle_pace.h). Until they run, a smaller workload behind a
// parked one would take the room, and the parked one would preempt it or wait on. Only parked
// workloads that were tried since the last wake-up count, and only those that fit now: a workload
// that fits nowhere holds nothing back.
//
// Parked workloads of other queues count against borrowers by the rule owners-before-borrowers: if
// one fits in the free quota of its queue and would then reclaim from the borrower (reclaimers.h),
// the borrower waits.
//
// A cycle in which no wake-up of the entry's tree is requested costs a look at the requests; else
// each entry that would be admitted costs up to kMostTried assignments of flavors. The first
// borrower of the tree costs as much for each of up to kMostQueues queues.
//
// Threads: one. Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "admission/cycle/cycle_entry.h"
#include "admission/cycle/reclaimers.h"

namespace berth::admission {

class CycleParked {
 public:
  static constexpr std::size_t kMostTried = 4;    // parked workloads of a queue that are looked at
  static constexpr std::size_t kMostQueues = 64;  // queues of a tree whose parked ones are
  // A queue that admits nothing meanwhile holds back so many entries, and then none until it has
  // admitted one: a parked workload that always fits until it is tried must not stop others for
  // ever.
  static constexpr std::int32_t kMostHeld = 1000;

  explicit CycleParked(const CycleContext& context)
      : context_(context), reclaimers_(context.state) {}

  // Call for each admitted entry.
  void NoteAdmitted(const CycleEntry& entry);
  // Why `entry`, which would be admitted, leaves its room to a parked workload; kNone: takes it.
  Remark WhyFirst(const CycleEntry& entry);
  // Ends a cycle.
  void Clear();

 private:
  bool Fits(WorkloadId parked, ClusterQueueId queue, Assignment& assignment) const;
  bool FitsInOwnQuota(WorkloadId parked, ClusterQueueId queue) const;
  bool PrecedingFits(const CycleEntry& entry) const;
  bool OwnerReclaims(const CycleEntry& entry);
  void AddOwners(ClusterQueueId of_tree);

  CycleContext context_;
  Reclaimers reclaimers_;                        // owners whose parked workloads fit
  std::vector<WakeTarget> looked_at_;            // trees whose queues are in reclaimers_
  std::map<ClusterQueueId, std::int32_t> held_;  // entries held back since the last admission
};

}  // namespace berth::admission

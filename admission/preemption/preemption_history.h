// admission/preemption/preemption_history.h — which workload preempted which, so that no workload
// takes back the quota that was taken from it: neither from its preemptor, nor from that workload's
// preemptor, and so on; and so that no workload preempts a victim twice whose first preemption was
// in vain (OwnRules::no_preemption_in_return).
//
// A preemption is remembered until one of the two workloads goes, changes or finishes (Forget), or
// queues change (Clear). For each victim the last kMostPerVictim are kept. A restart forgets all,
// which costs at most one more round of preemptions.
//
// Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <vector>

#include "base/small_vector.h"
#include "queue/queue_set.h"

namespace berth::admission {

using queue::WorkloadId;

class PreemptionHistory {
 public:
  static constexpr std::size_t kMostPerVictim = 16;

  void Note(WorkloadId preemptor, WorkloadId victim);
  void Forget(WorkloadId workload);
  void Admitted(WorkloadId workload) {
    const auto slot = static_cast<std::size_t>(workload);
    if (slot < known_.size()) ++known_[slot].admissions;
  }
  // A workload released quota for good: preemptions that were in vain may be tried again.
  void Departed() { ++departures_; }
  void Clear() { known_.clear(); }

  bool WasPreempted(WorkloadId workload) const {
    const auto slot = static_cast<std::size_t>(workload);
    return slot < known_.size() && !known_[slot].preempted_by.empty();
  }
  // Whether `preemptor` has preempted `victim` in vain: the preemptor still waits, the victim is
  // admitted again, and no workload has departed since.
  bool InVain(WorkloadId preemptor, WorkloadId victim) const;
  // The preemptors of the workload, their preemptors, and so on; sorted.
  std::vector<WorkloadId> Above(WorkloadId workload) const;

 private:
  struct Preemptor {
    WorkloadId workload = queue::kNoNode;
    std::uint64_t life = 0;
    // The admissions of each of the two, and all departures, at the time of the preemption.
    std::int64_t admissions = 0;
    std::int64_t victims_admissions = 0;
    std::int64_t departures = 0;
  };
  struct Known {
    SmallVector<Preemptor, 1> preempted_by;
    std::int64_t admissions = 0;
    std::uint64_t life = 0;  // grows with Forget, which voids older entries
  };

  Known& Get(WorkloadId workload);

  std::vector<Known> known_;  // by WorkloadId
  std::int64_t departures_ = 0;
};

}  // namespace berth::admission

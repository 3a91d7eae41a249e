// admission/preemption_history.h — who was stopped for whom, so that nobody takes back what was
// taken from it: not from the one who preempted it, nor from whoever preempted that one, and so on;
// and nobody is stopped twice by one that gained nothing the first time
// (OwnRules::no_preemption_in_return).
//
// A preemption is remembered until one of the two goes, changes, or finishes (Forget), or queues
// change (Clear); of one victim the last kMostPerVictim. A restart forgets all, which costs one
// more round at most.
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
  // Somebody gave quota back for good: what was in vain before that may be tried again.
  void Departed() { ++departures_; }
  void Clear() { known_.clear(); }

  bool WasPreempted(WorkloadId workload) const {
    const auto slot = static_cast<std::size_t>(workload);
    return slot < known_.size() && !known_[slot].preempted_by.empty();
  }
  // It has preempted the victim before, who is back while it still waits.
  bool InVain(WorkloadId preemptor, WorkloadId victim) const;
  // Whoever preempted it, and whoever preempted those, and so on; sorted.
  std::vector<WorkloadId> Above(WorkloadId workload) const;

 private:
  struct Preemptor {
    WorkloadId workload = queue::kNoNode;
    std::uint64_t life = 0;
    // How often each had been admitted, and how many had departed, at that time.
    std::int64_t admissions = 0;
    std::int64_t victims_admissions = 0;
    std::int64_t departures = 0;
  };
  struct Known {
    SmallVector<Preemptor, 1> preempted_by;
    std::int64_t admissions = 0;
    std::uint64_t life = 0;  // grows with Forget: what was noted before does not count
  };

  Known& Get(WorkloadId workload);

  std::vector<Known> known_;  // by WorkloadId
  std::int64_t departures_ = 0;
};

}  // namespace berth::admission

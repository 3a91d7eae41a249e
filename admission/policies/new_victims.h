// admission/policies/new_victims.h — preemptions that would stop a workload right after its
// admission (OwnRules::spare_the_just_admitted), or right before its end
// (OwnRules::spare_the_soon_done).
//
//     preemptor waits ──▶ victim is admitted ──▶ the preemption waits until the victim has run for
//                                                a minute, or the preemptor has been held so long
//
// A preemptor that came after the admission of the victim is not held. A preemptor is held for one
// minute in ten at most, however many victims are admitted meanwhile. Victims are spared in
// ClusterQueues whose ended workloads have run for at least a minute in the mean: where workloads
// end sooner, a preemption loses little, and a minute is long.
//
// The end of a workload is expected where the ended workloads of its ClusterQueue have run for at
// most kShort in the mean: an eviction takes about as long. The runs of all queues count where few
// have ended in this one. A workload that has run for more than twice the mean is one that runs for
// longer.
//
// Threads: one. Errors: none.
#pragma once

#include <map>
#include <optional>

#include "admission/preemption/preemption_trial.h"
#include "admission/quota/reservations.h"
#include "base/clock.h"

namespace berth::admission {

class NewVictims {
 public:
  static constexpr Duration kSpared = std::chrono::minutes(1);
  static constexpr Duration kHeldAgainAfter = std::chrono::minutes(10);
  static constexpr Duration kShort = std::chrono::seconds(5);

  // A workload of the queue has run for so long, and has ended by itself.
  void NoteRun(ClusterQueueId queue, Duration ran);
  // The instant until which the preemption of `targets` by a workload that waits since `queued_at`
  // is held; nullopt: it is not held. Notes since when the workload is held.
  std::optional<WallTime> HeldUntil(WorkloadId preemptor, WallTime queued_at,
                                    const PreemptionTargets& targets, WallTime now);
  // When `victim` is expected to have ended by itself; nullopt: not within seconds from `now`.
  std::optional<WallTime> SoonDoneAt(const Reservation& victim, WallTime now) const;
  // The workload no longer waits.
  void Forget(WorkloadId preemptor);

 private:
  struct Runs {
    double mean = 0;  // seconds
    int count = 0;    // at most kMostRuns
    void Add(Duration ran);
  };
  static constexpr int kFewestRuns = 5;  // fewer runs of a queue tell no end
  static constexpr int kMostRuns = 200;  // each later run counts for a 200th of the mean
  bool AreLong(ClusterQueueId queue) const;

  std::map<ClusterQueueId, Runs> runs_;
  Runs all_runs_;
  std::map<WorkloadId, WallTime> held_since_;  // workloads that wait and have been held
};

}  // namespace berth::admission

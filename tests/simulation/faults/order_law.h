// tests/simulation/faults/order_law.h — whose turn it is in a ClusterQueue.
//
// A workload that has waited for `window` while nothing went wrong goes before those of lower
// priority and, of equal priority, before younger ones:
//   strict-order    a StrictFIFO queue gives quota to one behind it
//   priority-order  a BestEffortFIFO queue gives one behind it what would have been enough for it
//
// Wake-ups are batched over a second, as in Kueue: for `kWakeUp` after quota has come free a parked
// workload may not have been tried, and priority-order is not judged.
//
// Not judged: queues ordered by past usage; preemptors, which have what they freed before all
// others; workloads of a topology, whose place alone says whether they fit; those that wait as
// Misconfigured.
//
// Threads: one.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "tests/simulation/faults/truth.h"

namespace berth::sim {

class OrderLaw {
 public:
  struct Breach {
    std::string rule;
    std::string text;
  };

  explicit OrderLaw(Duration window) : window_(window) {}

  // One workload has changed; `before` is null where it is new, `workload` where it is gone.
  void NoteWorkload(const Truth& truth, const WorkloadFacts* before, const WorkloadFacts* workload,
                    SteadyTime now);
  // Queues or namespaces have changed: who waits where may be another.
  void NoteQueues(const Truth& truth, SteadyTime now);
  // Who waits begins to wait anew: what could be had has changed.
  void Restart() { waits_.clear(); }
  void OnPreemptor(const std::string& uid) { preemptors_.insert(uid); }
  // `workload` has just been given quota.
  std::optional<Breach> Judge(const Truth& truth, const WorkloadFacts& workload,
                              SteadyTime now) const;

 private:
  struct Waiting {
    SteadyTime since;
    std::string queue;
    std::int64_t priority = 0;
    std::int64_t pods = 0;
  };
  void NoteWaiting(const Truth& truth, const WorkloadFacts& workload, SteadyTime now);
  bool GoesBefore(const WorkloadFacts& first, const WorkloadFacts& second) const;

  static constexpr Duration kWakeUp = std::chrono::seconds(2);

  const Duration window_;
  std::optional<SteadyTime> released_;    // when one of them gave it back last
  std::map<std::string, Waiting> waits_;  // by UID
  std::set<std::string> preemptors_;      // UIDs
};

}  // namespace berth::sim

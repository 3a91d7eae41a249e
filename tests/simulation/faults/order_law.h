// tests/simulation/faults/order_law.h — whose turn it is in a ClusterQueue.
//
// A workload that has waited for `window` while nothing went wrong goes before those of lower
// priority and, of equal priority, before younger ones:
//   strict-order    a StrictFIFO queue gives quota to one behind it
//   priority-order  a BestEffortFIFO queue gives one behind it what would have been enough for it
//
// Not judged: queues ordered by past usage; preemptors, which have what they freed before all
// others; workloads of a topology, whose place alone says whether they fit.
//
// Threads: one.
#pragma once

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

  // The objects have changed.
  void Note(const Truth& truth, SteadyTime now);
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
    bool never_evicted = true;
  };
  bool GoesBefore(const WorkloadFacts& first, const WorkloadFacts& second) const;

  const Duration window_;
  std::map<std::string, Waiting> waits_;  // by UID
  std::set<std::string> preemptors_;      // UIDs
};

}  // namespace berth::sim

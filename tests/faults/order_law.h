// tests/faults/order_law.h — the rules of order in a ClusterQueue.
//
// A workload that has waited for `window` without faults goes before those of lower priority and,
// of equal priority, before younger ones:
//   strict-order    a StrictFIFO queue gives quota to a workload behind it
//   priority-order  a BestEffortFIFO queue gives a workload behind it quota that it fits
//
// Wake-ups are batched over a second, as in Kueue: for `kWakeUp` after a release of quota, of
// a whole workload or of pods that need none, a parked workload may not have been tried, and
// priority-order does not apply.
//
// Decisions are judged by their writes, which may overtake one another: a breach counts after
// kSettles in which the workload that was passed over did not get quota.
//
// Exceptions: queues ordered by usage; workloads of equal priority in queues with an order of their
// own (berth.dev/order, berth.dev/deadlines); preemptors, which get the quota that they freed
// first; workloads with a topology, which only placement can judge; workloads that wait as
// Misconfigured; slices of elastic jobs that replace others, which ask for a difference only.
//
// Threads: one.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "tests/faults/truth.h"

namespace berth::sim {

class OrderLaw {
 public:
  struct Breach {
    std::string rule;
    std::string text;
  };

  explicit OrderLaw(Duration window) : window_(window) {}

  // One workload has changed; `before` is null for a new one, `workload` for a deleted one.
  void NoteWorkload(const Truth& truth, const WorkloadFacts* before, const WorkloadFacts* workload,
                    SteadyTime now);
  // Queues or namespaces have changed: the waiting workloads of each queue may be others.
  void NoteQueues(const Truth& truth, SteadyTime now);
  // Restarts all waits: the available quota has changed.
  void Restart() { waits_.clear(); }
  void OnPreemptor(const std::string& uid) { preemptors_.insert(uid); }
  // `workload` has just reserved quota.
  void OnQuota(const Truth& truth, const WorkloadFacts& workload, SteadyTime now);
  // The first breach that has settled.
  std::optional<Breach> Settled(SteadyTime now);

  // Whether `workload`, which waits or has just got quota, waited for the window as the head of its
  // ClusterQueue, and no other workload has stopped waiting within kWakeUp.
  bool IsFirst(const Truth& truth, const WorkloadFacts& workload, SteadyTime now) const;
  bool IsPreemptor(const std::string& uid) const { return preemptors_.contains(uid); }
  // Whether a parked workload may not have been tried since the last release of quota.
  bool IsWakingUp(SteadyTime now) const { return released_ && *released_ + kWakeUp > now; }
  // The amounts that `workload` needs of the flavors of `given`; none where `given` got less.
  static std::optional<FlavorAmounts> NeedsOf(const Truth& truth, const WorkloadFacts& given,
                                              const WorkloadFacts& workload);

 private:
  struct Waiting {
    SteadyTime since;
    std::string queue;
    std::int64_t priority = 0;
    std::int64_t pods = 0;
  };
  struct Open {
    SteadyTime since;
    std::string passed_over;  // UID
    Breach breach;
  };
  void NoteWaiting(const Truth& truth, const WorkloadFacts& workload, SteadyTime now);
  static bool GoesBefore(const QueueFacts& queue, const WorkloadFacts& first,
                         const WorkloadFacts& second);

  static constexpr Duration kWakeUp = std::chrono::seconds(2);
  static constexpr Duration kSettles = std::chrono::milliseconds(100);

  const Duration window_;
  std::optional<SteadyTime> left_;        // the last end of a workload's waiting
  std::optional<SteadyTime> released_;    // the last release of quota, of all or of a part
  std::map<std::string, Waiting> waits_;  // by UID
  std::set<std::string> preemptors_;      // UIDs
  std::deque<Open> open_;
};

}  // namespace berth::sim

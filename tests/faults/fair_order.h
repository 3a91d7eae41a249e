// tests/faults/fair_order.h — the order, with fair sharing, among the heads of the
// ClusterQueues right below one cohort.
//
//   fair-order  a ClusterQueue's workload gets quota that would have been enough for the head of
//               another ClusterQueue, and with that head the other ClusterQueue's share is lower
//
// The law is applied where no other rule decides: both workloads have waited for the window of
// OrderLaw, are the heads of their queues and no preemptors; the other queue has one flavor for
// each resource, and room; no victim of the tree is running, and no workload has just left the
// queues. A StrictFIFO queue's workload that gets quota just after its release is compared with the
// heads of StrictFIFO queues alone: others may not have been woken. Writes follow a decision later:
// a breach counts after kSettles in which the other ClusterQueue's usage did not change.
//
// Threads: one.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tests/faults/fair_law.h"
#include "tests/faults/order_law.h"
#include "tests/faults/quota_law.h"
#include "tests/faults/truth.h"

namespace berth::sim {

class FairOrder {
 public:
  struct Rules {
    const support::QuotaFormulae& quota;
    const FairLaw& shares;
    const OrderLaw& order;
  };

  // `workload` has got quota now, and waited before.
  void OnQuota(const Truth& truth, const Rules& rules, const WorkloadFacts& workload,
               SteadyTime now);
  // The usage of the ClusterQueue has changed.
  void NoteUsage(const std::string& queue, SteadyTime now);
  // The first breach that has settled.
  std::optional<OrderLaw::Breach> Settled(SteadyTime now);

  // The number of comparisons, for tests.
  int compared() const { return compared_; }

 private:
  struct Open {
    SteadyTime since;
    std::string queue;  // the other ClusterQueue
    std::string text;
  };
  static constexpr Duration kSettles = std::chrono::seconds(2);

  bool MayCompare(const Truth& truth, const Rules& rules, const WorkloadFacts& workload,
                  SteadyTime now) const;

  std::map<std::string, SteadyTime> changed_;  // by ClusterQueue
  std::deque<Open> open_;
  int compared_ = 0;
};

}  // namespace berth::sim

// admission/cycle/reclaimers.h — queues that have quota of their own and more workloads to try, and
// the borrowers that these workloads would preempt.
//
// A borrower would be preempted where its usage leaves less in a cohort above than the free quota
// of the cohort's reclaimers.
//
// A borrower costs for each borrowed flavor-resource a look at each reclaimer.
//
// Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/cycle/cycle_entry.h"

namespace berth::admission {

class Reclaimers {
 public:
  explicit Reclaimers(const ClusterState& state) : state_(state) {}

  bool empty() const { return members_.empty(); }
  void Clear() { members_.clear(); }
  // Precondition: the queue is not among them; its workloads to be tried have at most `priority`.
  void Add(const QueueState& queue, std::int64_t priority);
  // Whether reclaimers other than the entry's queue would take the quota that the entry would
  // borrow. No later entry gets this quota then.
  bool WouldPreempt(const CycleEntry& entry);

 private:
  // The reclaimers below a cohort.
  struct Members {
    std::vector<NodeId> queues;  // directly below, may reclaim from workloads of any priority
    Usage wanted;                // by `queues`; only flavor-resources that were asked for
    // Other members, with the priority below which workloads may be preempted.
    std::map<NodeId, std::int64_t> others;
  };

  Amount FreeOf(NodeId node, FlavorResourceId fr) const;
  Amount WantedIn(NodeId cohort, NodeId except, FlavorResourceId fr, std::int64_t priority);

  const ClusterState& state_;
  std::map<NodeId, Members> members_;  // by cohort
};

}  // namespace berth::admission

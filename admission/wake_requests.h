// admission/wake_requests.h — the requested wake-ups: queues and trees of cohorts whose
// inadmissible workloads a change may make admissible.
//
//     change ──Add…──▶ requests ──Take──▶ targets, each tree once
//
// Threads: one. Errors: none.
// Source: Kueue pkg/cache/queue (QueueInadmissibleWorkloads).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/own_rules.h"
#include "queue/queue_set.h"

namespace berth::admission {

class WakeRequests {
 public:
  // All must outlive the requests.
  WakeRequests(ClusterState& state, const queue::QueueSet& queues, const OwnRules& own_rules)
      : state_(state), queues_(queues), own_rules_(own_rules) {}

  void Add(const Wakes& wakes) {
    for (const WakeTarget& target : wakes) Add(target);
  }
  // The tree of the queue.
  void AddTreeOf(ClusterQueueId queue);
  // The tree `before`, if a node that may have borrowed from the tree moved to the tree `after`.
  void AddLeft(const std::optional<WakeTarget>& before, const std::optional<WakeTarget>& after);
  // The tree where `object` released quota, or which it left.
  void AddAround(const api::Workload& object);
  // The queues that use the reservation's nodes.
  void AddUsersOfNodes(const Reservation& held);

  // Whether the tree of the queue is requested.
  bool HasTreeOf(ClusterQueueId queue) const;
  bool empty() const { return targets_.empty() && freed_flavors_.empty(); }
  // Whether there are requests since the last TakeAll or TakeNew.
  bool HasNew() const { return !new_targets_.empty() || !freed_flavors_.empty(); }
  // The requests without the cohorts below a requested cohort. Removes all requests.
  std::vector<WakeTarget> TakeAll();
  // The new requests without the cohorts below a new one. They stay requested, and are not new.
  std::vector<WakeTarget> TakeNew();

 private:
  void Add(const WakeTarget& target);
  void AddFreedFlavors();

  ClusterState& state_;
  const queue::QueueSet& queues_;
  const OwnRules& own_rules_;
  std::set<WakeTarget> targets_;
  std::set<WakeTarget> new_targets_;  // among targets_
  std::set<FlavorId> freed_flavors_;  // flavors with room released on their nodes
};

// The tree of the cohort; nullopt: the cohort is unknown or in a cycle of parents.
std::optional<WakeTarget> TreeOfCohort(const ClusterState& state, const std::string& name);

}  // namespace berth::admission

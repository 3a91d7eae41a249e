// admission/quota/reservations.h — the workloads that hold quota, by number, and for each
// ClusterQueue in the order of preemption: evicted first, then lower priority, later
// reservation, UID.
//
// Threads: one. Errors: none; preconditions are asserted.
// Source: Kueue pkg/cache/scheduler (ClusterQueue.Workloads), pkg/scheduler/preemption
// (candidates).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "admission/decision.h"
#include "admission/quota/quota_tree.h"
#include "admission/topology/placed_pods.h"
#include "base/clock.h"

namespace berth::admission {

// A workload that holds quota. Candidates for preemption are read from a queue's list of
// reservations.
struct Reservation {
  WorkloadId workload = queue::kNoNode;
  std::shared_ptr<const api::Workload> object;
  ClusterQueueId cluster_queue = -1;
  Usage usage;
  std::int64_t priority = 0;
  WallTime queued_at{};            // queue-order instant
  WallTime reserved_at{};          // when QuotaReserved became true
  std::uint64_t run_kind = 0;      // RestartCosts::KindOf (policies/restart_costs.h)
  bool evicted = false;            // evicted, and its pods have not all stopped
  bool admitted = false;           // condition Admitted
  bool pods_ready = false;         // condition PodsReady
  bool preempted_before = false;   // set with OwnRules::spare_the_preempted alone
  bool foreign_owner = false;      // Berth does not manage the owner's kind: no candidate
  std::vector<PlacedPods> placed;  // room that it takes on nodes

  bool Uses(FlavorResourceId fr) const;
};

// A reservation in its queue's list, with the fields that the order compares.
struct ListedReservation {
  std::int64_t priority = 0;
  WallTime reserved_at{};
  std::uint64_t uid_start = 0;  // first bytes of the UID, big-endian
  Reservation* reservation = nullptr;
  std::uint64_t uses = 0;  // bit n: uses a flavor-resource with number ≡ n modulo 64
  bool evicted = false;
  bool preempted_before = false;
  bool foreign_owner = false;

  // False: the reservation does not use fr; true: it may.
  bool MayUse(FlavorResourceId fr) const { return ((uses >> (fr % 64)) & 1U) != 0; }
};

// Whether `a` is preempted before `b`.
bool TakenBefore(const ListedReservation& a, const ListedReservation& b);
bool TakenBefore(const Reservation& a, const Reservation& b);

class Reservations {
 public:
  // Null: the workload holds no quota.
  const Reservation* Find(WorkloadId workload) const {
    const auto slot = static_cast<std::size_t>(workload);
    return slot < by_workload_.size() ? by_workload_[slot].get() : nullptr;
  }
  // The reservations in the order of preemption.
  const std::vector<ListedReservation>& Of(ClusterQueueId queue) const;

  void Add(std::unique_ptr<Reservation> reservation);  // precondition: the workload has none
  std::unique_ptr<Reservation> Remove(WorkloadId workload);

  // Changes whenever a reservation comes, goes or changes.
  std::int64_t version() const { return version_; }
  // The number of reservations whose pods are not all ready.
  std::int64_t not_ready_count() const { return not_ready_count_; }
  // The number of reservations with foreign_owner.
  std::int64_t foreign_owner_count() const { return foreign_owner_count_; }

 private:
  std::vector<std::unique_ptr<Reservation>> by_workload_;  // by WorkloadId
  std::vector<std::vector<ListedReservation>> by_queue_;   // by ClusterQueueId
  std::int64_t version_ = 0;
  std::int64_t not_ready_count_ = 0;
  std::int64_t foreign_owner_count_ = 0;
};

}  // namespace berth::admission

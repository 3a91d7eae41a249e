// admission/cluster_state.h — the state that decisions read: the catalogue of objects and the
// reservations, with the quota and nodes that the reservations use.
//
//     objects   ──Set…/Remove…────▶ Catalogue ────┐
//                                                 ├──▶ QuotaTree, TopologyPlacer ──▶ decisions
//     workloads ──Reserve/Release─▶ Reservations ─┘
//
// Threads: one. Errors: none; the webhooks refuse invalid objects.
// Source: Kueue pkg/cache/scheduler.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "admission/catalogue/catalogue.h"
#include "admission/catalogue/catalogue_queries.h"
#include "admission/quota/reservations.h"

namespace berth::admission {

class ClusterState : public Catalogue {
 public:
  using Catalogue::Catalogue;

  // A queue that is added counts the usage of the reservations that name the queue already.
  Wakes SetClusterQueue(const api::ClusterQueue& object);

  const Reservations& reservations() const { return reservations_; }
  // Null: the workload holds no quota.
  const Reservation* reservation(WorkloadId workload) const { return reservations_.Find(workload); }

  // Adds the reservation, or replaces the reservation that the workload holds.
  void Reserve(std::unique_ptr<Reservation> reservation);
  void Release(WorkloadId workload);
  // Changes a reservation and restores its position in the order (priority, eviction, time).
  void Update(WorkloadId workload, const std::function<void(Reservation&)>& change);

  // A what-if on quota and nodes together; what-ifs nest. A reservation that a what-if takes out or
  // puts back must live until the what-if's end.
  struct WhatIf {
    QuotaTree::Mark quota;
    TopologyPlacer::Mark nodes = 0;
  };
  WhatIf Begin() { return {tree().Begin(), placer().Begin()}; }
  void RollBack(const WhatIf& what_if) {
    placer().RollBack(what_if.nodes);
    tree().RollBack(what_if.quota);
  }
  void TakeOut(const Reservation& reservation) {
    tree().RemoveUsage(queue(reservation.cluster_queue).node, reservation.usage);
    if (!reservation.placed.empty()) placer().Free(reservation.placed);
  }
  void PutBack(const Reservation& reservation) {
    tree().AddUsage(queue(reservation.cluster_queue).node, reservation.usage);
    if (!reservation.placed.empty()) placer().Use(reservation.placed);
  }

 private:
  void CountIn(const Reservation& reservation);
  void CountOut(const Reservation& reservation);

  Reservations reservations_;
};

// The path of the queue in its tree: "/root/…/queue".
std::string PathOf(const ClusterState& state, ClusterQueueId queue);

}  // namespace berth::admission

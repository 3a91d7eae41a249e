// admission/cluster_state.h — what the decisions read: the catalogue of objects and the
// reservations, with what the reservations use of the catalogue's quotas and nodes.
//
//     objects   ──Set…/Remove…────▶ Catalogue ────┐
//                                                 ├──▶ QuotaTree, TopologyPlacer ──▶ decisions
//     workloads ──Reserve/Release─▶ Reservations ─┘
//
// Threads: one. Errors: none; bad objects were refused by the webhooks.
// Source: Kueue pkg/cache/scheduler.
#pragma once

#include <functional>
#include <memory>

#include "admission/catalogue.h"
#include "admission/reservations.h"

namespace berth::admission {

class ClusterState : public Catalogue {
 public:
  using Catalogue::Catalogue;

  // A queue that comes uses what is reserved in it already.
  Wakes SetClusterQueue(const api::ClusterQueue& object);

  const Reservations& reservations() const { return reservations_; }
  // null: it holds no quota.
  const Reservation* reservation(WorkloadId workload) const { return reservations_.Find(workload); }

  // Holds quota from now on, or with new numbers. Releasing may help others.
  void Reserve(std::unique_ptr<Reservation> reservation);
  void Release(WorkloadId workload);
  // Re-sorts after priority, eviction or time changed.
  void Update(WorkloadId workload, const std::function<void(Reservation&)>& change);

  // What-ifs on quota and nodes together; they nest. A reservation that is taken out or put back in
  // one must live until its end.
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

}  // namespace berth::admission

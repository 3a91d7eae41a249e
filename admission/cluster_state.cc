#include "admission/cluster_state.h"

#include <string>
#include <utility>
#include <vector>

namespace berth::admission {

// A reservation in a missing queue holds nodes, but no quota.
void ClusterState::CountIn(const Reservation& reservation) {
  const QueueState& of = queue(reservation.cluster_queue);
  if (of.present) tree().AddUsage(of.node, reservation.usage);
  placer().Use(reservation.placed);
}

void ClusterState::CountOut(const Reservation& reservation) {
  const QueueState& of = queue(reservation.cluster_queue);
  if (of.present) tree().RemoveUsage(of.node, reservation.usage);
  placer().Free(reservation.placed);
}

Wakes ClusterState::SetClusterQueue(const api::ClusterQueue& object) {
  const bool is_new = !cluster_queues().Find(object.meta.name);
  Wakes wakes = Catalogue::SetClusterQueue(object);
  if (!is_new) return wakes;
  const ClusterQueueId id = cluster_queues().Find(object.meta.name).value();
  for (const ListedReservation& listed : reservations_.Of(id)) {
    tree().AddUsage(queue(id).node, listed.reservation->usage);
  }
  return wakes;
}

void ClusterState::Reserve(std::unique_ptr<Reservation> reservation) {
  EnsureQueue(reservation->cluster_queue);
  CountIn(*reservation);
  // Lists of reservations may move; caches for a version of the tree refer to them.
  if (!queue(reservation->cluster_queue).present) tree().NoteChange();
  reservations_.Add(std::move(reservation));
}

void ClusterState::Release(WorkloadId workload) {
  const std::unique_ptr<Reservation> released = reservations_.Remove(workload);
  CountOut(*released);
  NoteFreed(released->cluster_queue);
}

void ClusterState::Update(WorkloadId workload, const std::function<void(Reservation&)>& change) {
  std::unique_ptr<Reservation> changed = reservations_.Remove(workload);
  const ClusterQueueId queue = changed->cluster_queue;
  CountOut(*changed);
  change(*changed);
  CountIn(*changed);
  reservations_.Add(std::move(changed));
  NoteFreed(queue);
}

std::string PathOf(const ClusterState& state, ClusterQueueId queue) {
  const std::string& name = state.queue(queue).name;
  const NodeId leaf = state.queue(queue).node;
  if (leaf == kNoQuotaNode || state.tree().InCycle(leaf)) return "/" + name;
  std::vector<NodeId> cohorts;
  for (NodeId node = state.tree().parent(leaf); node != kNoQuotaNode;
       node = state.tree().parent(node)) {
    cohorts.push_back(node);
  }
  std::string path = "/";
  for (std::size_t i = cohorts.size(); i-- > 0;) path += state.cohorts().NameOf(cohorts[i]) + "/";
  return path + name;
}

}  // namespace berth::admission

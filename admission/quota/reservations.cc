#include "admission/quota/reservations.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace berth::admission {

bool Reservation::Uses(FlavorResourceId fr) const {
  return std::any_of(usage.begin(), usage.end(),
                     [fr](const FlavorResourceAmount& item) { return item.flavor_resource == fr; });
}

bool TakenBefore(const ListedReservation& a, const ListedReservation& b) {
  if (a.evicted != b.evicted) return a.evicted;
  if (a.priority != b.priority) return a.priority < b.priority;
  if (a.reserved_at != b.reserved_at) return a.reserved_at > b.reserved_at;
  if (a.preempted_before != b.preempted_before) return b.preempted_before;
  if (a.uid_start != b.uid_start) return a.uid_start < b.uid_start;
  return a.reservation->object->meta.uid < b.reservation->object->meta.uid;
}

bool TakenBefore(const Reservation& a, const Reservation& b) {
  if (a.evicted != b.evicted) return a.evicted;
  if (a.priority != b.priority) return a.priority < b.priority;
  if (a.reserved_at != b.reserved_at) return a.reserved_at > b.reserved_at;
  if (a.preempted_before != b.preempted_before) return b.preempted_before;
  return a.object->meta.uid < b.object->meta.uid;
}

namespace {

ListedReservation Listed(Reservation& reservation) {
  ListedReservation listed;
  listed.priority = reservation.priority;
  listed.reserved_at = reservation.reserved_at;
  listed.reservation = &reservation;
  listed.evicted = reservation.evicted;
  listed.preempted_before = reservation.preempted_before;
  listed.foreign_owner = reservation.foreign_owner;
  const std::string& uid = reservation.object->meta.uid;
  for (std::size_t i = 0; i < sizeof listed.uid_start; ++i) {
    const std::uint64_t byte = i < uid.size() ? static_cast<unsigned char>(uid[i]) : 0;
    listed.uid_start = listed.uid_start << 8U | byte;
  }
  for (const FlavorResourceAmount& item : reservation.usage) {
    listed.uses |= std::uint64_t{1} << (item.flavor_resource % 64);
  }
  return listed;
}

}  // namespace

const std::vector<ListedReservation>& Reservations::Of(ClusterQueueId queue) const {
  static const std::vector<ListedReservation> none;
  const auto slot = static_cast<std::size_t>(queue);
  return slot < by_queue_.size() ? by_queue_[slot] : none;
}

void Reservations::Add(std::unique_ptr<Reservation> reservation) {
  const auto slot = static_cast<std::size_t>(reservation->workload);
  if (slot >= by_workload_.size()) by_workload_.resize(slot + 1);
  BERTH_ASSERT(by_workload_[slot] == nullptr);
  ++version_;
  const auto queue = static_cast<std::size_t>(reservation->cluster_queue);
  if (queue >= by_queue_.size()) by_queue_.resize(queue + 1);
  if (!reservation->pods_ready) ++not_ready_count_;
  if (reservation->foreign_owner) ++foreign_owner_count_;
  const ListedReservation added = Listed(*reservation);
  std::vector<ListedReservation>& list = by_queue_[queue];
  list.insert(std::lower_bound(list.begin(), list.end(), added,
                               [](const auto& a, const auto& b) { return TakenBefore(a, b); }),
              added);
  by_workload_[slot] = std::move(reservation);
}

std::unique_ptr<Reservation> Reservations::Remove(WorkloadId workload) {
  const auto slot = static_cast<std::size_t>(workload);
  BERTH_ASSERT(slot < by_workload_.size() && by_workload_[slot] != nullptr);
  ++version_;
  std::unique_ptr<Reservation> removed = std::move(by_workload_[slot]);
  if (!removed->pods_ready) --not_ready_count_;
  if (removed->foreign_owner) --foreign_owner_count_;
  std::vector<ListedReservation>& list =
      by_queue_[static_cast<std::size_t>(removed->cluster_queue)];
  const auto found =
      std::lower_bound(list.begin(), list.end(), Listed(*removed),
                       [](const auto& a, const auto& b) { return TakenBefore(a, b); });
  BERTH_ASSERT(found != list.end() && found->reservation == removed.get());
  list.erase(found);
  return removed;
}

}  // namespace berth::admission

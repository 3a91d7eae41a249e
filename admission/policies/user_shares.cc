#include "admission/policies/user_shares.h"

#include <algorithm>

namespace berth::admission {

void UserShares::Set(ClusterQueueId queue, bool take_turns) {
  if (!take_turns) {
    used_.erase(queue);
  } else if (used_.count(queue) == 0) {
    used_[queue];
    Recount(queue);
  }
}

void UserShares::Recount(ClusterQueueId queue) {
  const auto found = used_.find(queue);
  if (found == used_.end()) return;
  found->second.clear();
  for (const ListedReservation& held : state_.reservations().Of(queue)) {
    Add(found->second[queues_.places().UserOf(*held.reservation->object)], *held.reservation, 1);
  }
  for (const auto& [user, usage] : found->second) {
    queues_.places().SetUserShare(queue, user, ShareOf(queue, usage));
  }
}

void UserShares::Count(const Reservation& reservation, int sign) {
  const ClusterQueueId queue = reservation.cluster_queue;
  const auto found = used_.find(queue);
  if (found == used_.end()) return;
  const std::int32_t user = queues_.places().UserOf(*reservation.object);
  Usage& usage = found->second[user];
  Add(usage, reservation, sign);
  queues_.places().SetUserShare(queue, user, ShareOf(queue, usage));
  if (usage.empty()) found->second.erase(user);
}

void UserShares::Add(Usage& usage, const Reservation& reservation, int sign) {
  for (const FlavorResourceAmount& item : reservation.usage) {
    AddTo(usage, item.flavor_resource, sign * item.amount);
  }
  erase_if(usage, [](const FlavorResourceAmount& item) { return item.amount == 0; });
}

double UserShares::ShareOf(ClusterQueueId queue, const Usage& usage) const {
  if (!state_.cluster_queues().Has(queue)) return 0;
  double share = 0;
  for (const FlavorResourceAmount& item : usage) {
    const Amount most = state_.tree().Potential(state_.queue(queue).node, item.flavor_resource);
    share = std::max(
        share, static_cast<double>(item.amount) / static_cast<double>(std::max<Amount>(most, 1)));
  }
  return share;
}

}  // namespace berth::admission

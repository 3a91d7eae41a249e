#include "admission/policies/user_shares.h"

#include <algorithm>

#include "api/job_user.h"

namespace berth::admission {
namespace {

// Submitters are told apart as queue::QueuePlaces does it.
std::string UserOf(const api::Workload& workload) {
  const std::string* user = api::FindValue(workload.meta.annotations, api::kUserAnnotation);
  if (user != nullptr) return "user " + *user;
  return "queue " + workload.meta.namespace_name + "/" + workload.spec.queue_name;
}

}  // namespace

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
  for (const ListedReservation& held : state_.reservations().Of(queue)) Count(*held.reservation, 1);
}

void UserShares::Count(const Reservation& reservation, int sign) {
  const ClusterQueueId queue = reservation.cluster_queue;
  const auto found = used_.find(queue);
  if (found == used_.end()) return;
  const auto user = found->second.try_emplace(UserOf(*reservation.object)).first;
  Usage& usage = user->second;
  for (const FlavorResourceAmount& item : reservation.usage) {
    AddTo(usage, item.flavor_resource, sign * item.amount);
  }
  erase_if(usage, [](const FlavorResourceAmount& item) { return item.amount == 0; });
  queues_.places().SetUserShare(queue, *reservation.object, ShareOf(queue, usage));
  if (usage.empty()) found->second.erase(user);
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

#include "queue/local_queues.h"

namespace berth::queue {

std::optional<ClusterQueueId> LocalQueues::ClusterQueueOf(const api::ObjectKey& local_queue) const {
  const auto found = numbers_.find(local_queue);
  if (found == numbers_.end()) return std::nullopt;
  const Entry& asked = at(found->second);
  if (!asked.known) return std::nullopt;
  return asked.cluster_queue;
}

std::optional<ClusterQueueId> LocalQueues::RouteOf(const api::ObjectKey& local_queue) const {
  const auto found = numbers_.find(local_queue);
  if (found == numbers_.end()) return std::nullopt;
  const Entry& asked = at(found->second);
  if (!asked.present) return std::nullopt;
  return asked.cluster_queue;
}

std::int64_t LocalQueues::CountPending(const api::ObjectKey& key) const {
  const auto found = numbers_.find(key);
  if (found == numbers_.end()) return 0;
  const Entry& asked = at(found->second);
  return asked.present ? static_cast<std::int64_t>(asked.members.size()) : 0;
}

const std::vector<WorkloadId>& LocalQueues::MembersOf(const api::ObjectKey& local_queue) const {
  static const std::vector<WorkloadId> kNobody;
  const auto found = numbers_.find(local_queue);
  if (found == numbers_.end()) return kNobody;
  return at(found->second).members;
}

std::int32_t LocalQueues::Find(const api::ObjectKey& key) const {
  const auto found = numbers_.find(key);
  return found == numbers_.end() ? kNone : found->second;
}

std::int32_t LocalQueues::NumberFor(const api::ObjectKey& key) {
  const auto [found, added] = numbers_.try_emplace(key, 0);
  if (!added) return found->second;
  if (free_.empty()) {
    free_.push_back(static_cast<std::int32_t>(entries_.size()));
    entries_.emplace_back();
  }
  found->second = free_.back();
  free_.pop_back();
  at(found->second).key = key;
  return found->second;
}

void LocalQueues::Release(std::int32_t number) {
  Entry& released = at(number);
  numbers_.erase(released.key);
  released = Entry{};
  free_.push_back(number);
}

}  // namespace berth::queue

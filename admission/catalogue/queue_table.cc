#include "admission/catalogue/queue_table.h"

namespace berth::admission {

QueueState& QueueTable::Make(ClusterQueueId id) {
  while (static_cast<std::size_t>(id) >= states_.size()) {
    states_.push_back(std::make_unique<QueueState>());
  }
  return *states_[static_cast<std::size_t>(id)];
}

void QueueTable::Add(ClusterQueueId id, const std::string& name, NodeId leaf) {
  QueueState& queue = Make(id);
  queue.name = name;
  queue.present = true;
  queue.node = leaf;
  const auto slot = static_cast<std::size_t>(leaf);
  if (slot >= queue_of_leaf_.size()) queue_of_leaf_.resize(slot + 1, -1);
  queue_of_leaf_[slot] = id;
  present_[name] = id;
}

void QueueTable::Remove(ClusterQueueId id) {
  QueueState& queue = Make(id);
  queue_of_leaf_[static_cast<std::size_t>(queue.node)] = -1;
  present_.erase(queue.name);
  queue.present = false;
  queue.node = kNoQuotaNode;
}

std::optional<ClusterQueueId> QueueTable::Find(const std::string& name) const {
  const auto found = present_.find(name);
  if (found == present_.end()) return std::nullopt;
  return found->second;
}

std::vector<ClusterQueueId> QueueTable::Present() const {
  std::vector<ClusterQueueId> queues;
  for (const auto& [name, id] : present_) queues.push_back(id);
  return queues;
}

}  // namespace berth::admission

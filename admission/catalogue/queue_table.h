// admission/catalogue/queue_table.h — the ClusterQueues by number, by name and by leaf of the quota
// tree.
//
// A queue that is named while its object is missing has a state with `present` false.
//
// Threads: one. Errors: none.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/catalogue/queue_state.h"
#include "queue/queue_set.h"

namespace berth::admission {

using queue::ClusterQueueId;

class QueueTable {
 public:
  // The queue has a state.
  const QueueState& operator[](ClusterQueueId id) const {
    return *states_[static_cast<std::size_t>(id)];
  }
  // Returns the state of the queue, made if missing; the reference stays valid.
  QueueState& Make(ClusterQueueId id);

  // Makes the queue present; its leaf in the quota tree is `leaf`.
  void Add(ClusterQueueId id, const std::string& name, NodeId leaf);
  void Remove(ClusterQueueId id);

  bool Has(ClusterQueueId id) const {
    return static_cast<std::size_t>(id) < states_.size() && (*this)[id].present;
  }
  std::optional<ClusterQueueId> Find(const std::string& name) const;  // among present queues
  ClusterQueueId At(NodeId leaf) const {                              // -1: the node is a cohort
    const auto slot = static_cast<std::size_t>(leaf);
    return slot < queue_of_leaf_.size() ? queue_of_leaf_[slot] : -1;
  }
  std::vector<ClusterQueueId> Present() const;  // by name

 private:
  std::vector<std::unique_ptr<QueueState>> states_;  // by ClusterQueueId
  std::map<std::string, ClusterQueueId> present_;
  std::vector<ClusterQueueId> queue_of_leaf_;
};

}  // namespace berth::admission

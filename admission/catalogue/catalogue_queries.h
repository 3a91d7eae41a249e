// admission/catalogue/catalogue_queries.h — questions about ClusterQueues that several tables of
// the Catalogue answer together.
//
// Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "admission/catalogue/catalogue.h"

namespace berth::admission {

// Whether the scheduler takes heads from the queue: active, and not below a cycle of cohorts.
inline bool Usable(const Catalogue& catalogue, ClusterQueueId id) {
  const QueueState& asked = catalogue.queue(id);
  return asked.active() && !catalogue.tree().InCycle(asked.node);
}

// Whether a change after the first `changes` ones (ChangeClock) concerned the queue or its tree.
bool ChangedSince(const Catalogue& catalogue, ClusterQueueId id, std::int64_t changes);

// The tree of the queue, as a target to wake; nullopt below a cycle of cohorts.
std::optional<WakeTarget> TreeOf(const Catalogue& catalogue, ClusterQueueId id);
// The queues that `target` covers, in no order.
std::vector<ClusterQueueId> QueuesOf(const Catalogue& catalogue, const WakeTarget& target);

// Whether all flavors of the queue have topologies, so that every pod set is placed.
bool PlacesEverything(const QueueState& queue, const TopologyPlacer& placer);

}  // namespace berth::admission

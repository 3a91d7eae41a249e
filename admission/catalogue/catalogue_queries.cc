#include "admission/catalogue/catalogue_queries.h"

namespace berth::admission {

bool ChangedSince(const Catalogue& catalogue, ClusterQueueId id, std::int64_t changes) {
  const QueueState& asked = catalogue.queue(id);
  if (asked.changed_at > changes) return true;
  if (!asked.present || catalogue.tree().InCycle(asked.node)) return false;
  return catalogue.changes().TreeChangedAt(catalogue.tree().Root(asked.node)) > changes;
}

std::optional<WakeTarget> TreeOf(const Catalogue& catalogue, ClusterQueueId id) {
  const QueueState& asked = catalogue.queue(id);
  if (!asked.present || catalogue.tree().InCycle(asked.node)) return std::nullopt;
  const NodeId root = catalogue.tree().Root(asked.node);
  if (root == asked.node) return WakeTarget{id, ""};
  return WakeTarget{-1, catalogue.cohorts().NameOf(root)};
}

std::vector<ClusterQueueId> QueuesOf(const Catalogue& catalogue, const WakeTarget& target) {
  std::vector<ClusterQueueId> queues;
  if (target.queue >= 0) {
    if (catalogue.queue(target.queue).present) queues.push_back(target.queue);
    return queues;
  }
  const std::optional<NodeId> node = catalogue.cohorts().Find(target.cohort);
  if (!node || catalogue.tree().InCycle(*node)) return queues;
  std::vector<NodeId> open{*node};
  while (!open.empty()) {
    const NodeId next = open.back();
    open.pop_back();
    if (const ClusterQueueId id = catalogue.cluster_queues().At(next); id >= 0) {
      queues.push_back(id);
    }
    const std::vector<NodeId>& children = catalogue.tree().children(next);
    open.insert(open.end(), children.rbegin(), children.rend());
  }
  return queues;
}

bool PlacesEverything(const QueueState& queue, const TopologyPlacer& placer) {
  for (const CompiledGroup& group : queue.groups) {
    for (const FlavorId flavor : group.flavors) {
      if (!placer.HasTopology(flavor)) return false;
    }
  }
  return true;
}

}  // namespace berth::admission

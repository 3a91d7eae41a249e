#include "admission/due_trees.h"

#include <algorithm>
#include <cstddef>

namespace berth::admission {

void DueTrees::Note(ClusterQueueId queue) {
  const NodeId root = RootOf(queue);
  if (root == kNoQuotaNode) return;
  const auto slot = static_cast<std::size_t>(root);
  if (slot >= is_due_.size()) is_due_.resize(slot + 1);
  is_due_[slot] = true;
}

void DueTrees::NoteQueueOf(const api::Workload& waiting) {
  const api::ObjectKey key{waiting.meta.namespace_name, waiting.spec.queue_name};
  if (const auto queue = queues_.local_queues().ClusterQueueOf(key)) Note(*queue);
}

bool DueTrees::Has(ClusterQueueId queue) const {
  const auto slot = static_cast<std::size_t>(RootOf(queue));
  return slot < is_due_.size() && is_due_[slot];
}

bool DueTrees::AreApart() const {
  const auto count = static_cast<FlavorId>(state_.vocabulary().flavors.size());
  bool apart = true;
  for (FlavorId flavor = 0; apart && flavor < count; ++flavor) {
    apart = !state_.placer().HasTopology(flavor);
  }
  return apart;
}

// A queue below a cycle of cohorts is a tree of its own; an unknown queue has none.
NodeId DueTrees::RootOf(ClusterQueueId queue) const {
  if (queue < 0 || !state_.cluster_queues().Has(queue)) return kNoQuotaNode;
  const NodeId node = state_.queue(queue).node;
  const bool has_root = node != kNoQuotaNode && !state_.tree().InCycle(node);
  return has_root ? state_.tree().Root(node) : node;
}

bool WaitsForOthers(const Decision& decision, const WorkloadRecord& head) {
  if (decision.to != queue::Destination::kActive || head.scan != nullptr) return false;
  if (decision.outcome == Outcome::kPreempting) {
    return std::all_of(decision.victims.begin(), decision.victims.end(),
                       [](const Victim& victim) { return victim.ongoing; });
  }
  return decision.outcome == Outcome::kSkipped && decision.remark == Remark::kHeldForPreemptor;
}

}  // namespace berth::admission

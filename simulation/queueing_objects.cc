#include "simulation/queueing_objects.h"

namespace berth::simulation {
namespace {

template <typename Table>
void ApplyAll(const Table& table, admission::Scheduler& scheduler) {
  for (const auto& entry : table) scheduler.Apply(entry.second);
}

}  // namespace

const api::LocalQueue* QueueingObjects::FindLocalQueue(const api::ObjectKey& key) const {
  const auto found = all<api::LocalQueue>().find(key);
  return found == all<api::LocalQueue>().end() ? nullptr : &found->second;
}

const api::ClusterQueue* QueueingObjects::FindClusterQueue(const std::string& name) const {
  const auto found = all<api::ClusterQueue>().find(name);
  return found == all<api::ClusterQueue>().end() ? nullptr : &found->second;
}

std::string QueueingObjects::ClusterQueueOf(const api::Workload& workload) const {
  if (workload.status.admission) return workload.status.admission->cluster_queue;
  const api::LocalQueue* const local =
      FindLocalQueue({workload.meta.namespace_name, workload.spec.queue_name});
  return local == nullptr ? "" : local->cluster_queue;
}

void QueueingObjects::Replay(admission::Scheduler& scheduler) const {
  std::apply([&](const auto&... table) { (ApplyAll(table, scheduler), ...); }, tables_);
}

}  // namespace berth::simulation

#include "admission/workloads/workload_records.h"

#include <utility>

namespace berth::admission {

const std::shared_ptr<const api::Workload>& WorkloadRecords::object(WorkloadId id) const {
  static const std::shared_ptr<const api::Workload> kNone;
  const auto slot = static_cast<std::size_t>(id);
  return slot < records_.size() ? records_[slot]->info.object : kNone;
}

std::optional<WorkloadId> WorkloadRecords::Find(const api::ObjectKey& key) const {
  const auto found = numbers_.find(key);
  if (found == numbers_.end()) return std::nullopt;
  return *found;
}

WorkloadId WorkloadRecords::New() {
  if (free_.empty()) {
    free_.push_back(static_cast<WorkloadId>(records_.size()));
    records_.push_back(std::make_unique<WorkloadRecord>());
  }
  const WorkloadId id = free_.back();
  free_.pop_back();
  at(id).phase = WorkloadRecord::Phase::kOutside;
  return id;
}

// Tenants write the names of resources: a name keeps its number while a workload requests it.
void WorkloadRecords::SetInfo(WorkloadId id, queue::WorkloadInfo info) {
  for (const queue::PodSetInfo& pod_set : info.pod_sets) {
    for (const ResourceRequest& request : pod_set.per_pod) resources_.Hold(request.resource);
  }
  for (const queue::PodSetInfo& pod_set : at(id).info.pod_sets) {
    for (const ResourceRequest& request : pod_set.per_pod) resources_.Drop(request.resource);
  }
  at(id).info = std::move(info);
}

std::optional<WorkloadId> WorkloadRecords::Unregister(const api::ObjectKey& key) {
  const auto found = numbers_.find(key);
  if (found == numbers_.end()) return std::nullopt;
  const WorkloadId id = *found;
  numbers_.erase(found);
  return id;
}

void WorkloadRecords::Free(WorkloadId id) {
  at(id) = WorkloadRecord{};
  at(id).forgotten_at = ++forgotten_count_;
  free_.push_back(id);
}

}  // namespace berth::admission

#include "admission/workloads/slice_replacements.h"

#include "admission/workloads/workload_slices.h"

namespace berth::admission {

// An evicted slice gives its quota back: the next slice then asks for all of its pods. So does the
// next slice in another queue.
const Reservation* SliceReplacements::ReplacedBy(const api::Workload& slice,
                                                 ClusterQueueId queue) const {
  if (!elastic_jobs_) return nullptr;
  const std::optional<api::ObjectKey> key = ReplacedSliceOf(slice);
  if (!key || replacements_.contains(*key)) return nullptr;
  const std::optional<WorkloadId> old = records_.Find(*key);
  const Reservation* held = old ? state_.reservation(*old) : nullptr;
  if (held == nullptr || held->evicted || held->cluster_queue != queue ||
      !held->object->status.admission || !HaveOneOwner(*held->object, slice)) {
    return nullptr;
  }
  return held;
}

bool SliceReplacements::IsReplaced(const api::Workload& slice, ClusterQueueId queue) const {
  if (replacements_.empty()) return false;
  const auto found = replacements_.find(slice.meta.key());
  if (found == replacements_.end()) return false;
  const Reservation* replacement = state_.reservation(found->second);
  return replacement != nullptr && replacement->cluster_queue == queue &&
         HaveOneOwner(slice, *replacement->object);
}

std::optional<api::ObjectKey> SliceReplacements::Add(WorkloadId id) {
  if (!elastic_jobs_) return std::nullopt;
  std::optional<api::ObjectKey> key = ReplacedSliceOf(*records_.at(id).info.object);
  if (key) replacements_[*key] = id;
  return key;
}

std::optional<api::ObjectKey> SliceReplacements::Remove(WorkloadId id,
                                                        const api::Workload& object) {
  if (replacements_.empty()) return std::nullopt;
  std::optional<api::ObjectKey> key = ReplacedSliceOf(object);
  const auto found = key ? replacements_.find(*key) : replacements_.end();
  if (found == replacements_.end() || found->second != id) return std::nullopt;
  replacements_.erase(found);
  return key;
}

}  // namespace berth::admission

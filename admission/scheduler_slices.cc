// Workload slices in the Scheduler: which slice a waiting one replaces, and whose charge counts.
#include <utility>

#include "admission/scheduler.h"
#include "admission/workload_slices.h"

namespace berth::admission {

// An evicted slice gives its quota back: the next slice then asks for all of its pods. So does the
// next slice in another queue.
const Reservation* Scheduler::SliceReplacedBy(const api::Workload& slice,
                                              ClusterQueueId queue) const {
  if (!config_.gates.elastic_jobs) return nullptr;
  const std::optional<api::ObjectKey> key = ReplacedSliceOf(slice);
  if (!key || replacements_.contains(*key)) return nullptr;
  const std::optional<WorkloadId> old = Find(*key);
  const Reservation* held = old ? state_.reservation(*old) : nullptr;
  if (held == nullptr || held->evicted || held->cluster_queue != queue ||
      !held->object->status.admission || !HaveOneOwner(*held->object, slice)) {
    return nullptr;
  }
  return held;
}

bool Scheduler::IsReplaced(const api::Workload& slice, ClusterQueueId queue) const {
  if (replacements_.empty()) return false;
  const auto found = replacements_.find(slice.meta.key());
  if (found == replacements_.end()) return false;
  const Reservation* replacement = state_.reservation(found->second);
  return replacement != nullptr && replacement->cluster_queue == queue &&
         HaveOneOwner(slice, *replacement->object);
}

// The workload `id` has got quota.
void Scheduler::TakeOver(WorkloadId id) {
  if (!config_.gates.elastic_jobs) return;
  const std::optional<api::ObjectKey> key = ReplacedSliceOf(*record(id).info.object);
  if (!key) return;
  replacements_[*key] = id;
  Recharge(*key);
}

// The workload `object` of number `id` holds quota no longer.
void Scheduler::GiveUpSlice(WorkloadId id, const api::Workload& object) {
  if (replacements_.empty()) return;
  const std::optional<api::ObjectKey> key = ReplacedSliceOf(object);
  const auto found = key ? replacements_.find(*key) : replacements_.end();
  if (found == replacements_.end() || found->second != id) return;
  replacements_.erase(found);
  Recharge(*key);
}

void Scheduler::Recharge(const api::ObjectKey& slice) {
  const std::optional<WorkloadId> id = Find(slice);
  if (!id || record(*id).phase != Phase::kReserved) return;
  const Reservation* held = state_.reservation(*id);
  std::unique_ptr<Reservation> next = NewReservation(*id, record(*id).info, held->reserved_at);
  if (next->cluster_queue != held->cluster_queue) return;
  CountAdmitted(*held, -1);
  CountAdmitted(*next, 1);
  state_.Update(*id, [&next](Reservation& changed) { changed = std::move(*next); });
}

}  // namespace berth::admission

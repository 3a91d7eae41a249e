// Pod defaults (LimitRanges, RuntimeClasses) in the Scheduler.
#include <algorithm>
#include <utility>

#include "admission/scheduler.h"

namespace berth::admission {
namespace {

bool SamePods(const api::Workload& a, const api::Workload& b) {
  return std::equal(a.spec.pod_sets.begin(), a.spec.pod_sets.end(), b.spec.pod_sets.begin(),
                    b.spec.pod_sets.end(), [](const api::PodSet& left, const api::PodSet& right) {
                      return left.pod_template.spec == right.pod_template.spec;
                    });
}

}  // namespace

std::shared_ptr<const api::Workload> Scheduler::Completed(
    std::shared_ptr<const api::Workload> object) const {
  return device_claims_.Counted(pod_defaults_.Completed(std::move(object)));
}

void Scheduler::Reconsider(const std::shared_ptr<const api::Workload>& object, WallTime now) {
  const std::optional<WorkloadId> id = Find(object->meta.key());
  if (!id) return;  // forgotten by the caller, who applies it again
  const Phase phase = record(*id).phase;
  if (phase == Phase::kAssumed || phase == Phase::kReserved) return;
  const std::shared_ptr<const api::Workload> completed = Completed(object);
  const bool queued = queue::BelongsInQueue(*completed) && !api::ClaimsDevices(*completed);
  const bool refused = queued && !pod_defaults_.Problem(*completed).empty();
  // No change for the workload: its plan and its note stay.
  if (queued == (phase == Phase::kPending) && refused == (refused_.count(*id) > 0) &&
      SamePods(*record(*id).info.object, *completed)) {
    return;
  }
  ForgetWorkload(object->meta.key());
  ApplyWorkload(object, now);
}

bool Scheduler::IsRefused(const api::ObjectKey& key) const {
  const std::optional<WorkloadId> id = Find(key);
  return id && refused_.count(*id) > 0;
}

std::string Scheduler::PodProblem(const api::Workload& object) const {
  const std::shared_ptr<const api::Workload> not_owned(std::shared_ptr<const void>(), &object);
  std::string problem = device_claims_.Problem(object);
  return problem.empty() ? pod_defaults_.Problem(*pod_defaults_.Completed(not_owned)) : problem;
}

}  // namespace berth::admission

#include "integrations/release.h"

#include <algorithm>

#include "api/pod_owner.h"
#include "api/reasons.h"
#include "base/assert.h"

namespace berth::integrations {
namespace {

constexpr char kEvictedByPreemption[] = "Preempted";

// Other evictions are requeued when their cause is over: after a backoff or a reactivation.
bool ComesBackAtOnce(const std::string& eviction_reason) {
  return eviction_reason == kEvictedByPreemption || eviction_reason == api::kNodeFailures;
}

void Set(const api::Workload& workload, const char* type, api::ConditionStatus value,
         const std::string& reason, const std::string& message, WallTime now,
         api::WorkloadStatus& status) {
  api::SetCondition(status.conditions, {.type = type,
                                        .status = value,
                                        .reason = reason,
                                        .message = message,
                                        .last_transition_time = CutToSeconds(now),
                                        .observed_generation = workload.meta.generation});
}

// The slices of an elastic job that have ended hold no quota.
bool TellsLess(const api::Workload& a, const api::Workload& b) {
  const auto weight = [](const api::Workload& each) {
    const auto& conditions = each.status.conditions;
    return (api::IsTrue(conditions, api::kFinished) ? 0 : 2) +
           (api::IsTrue(conditions, api::kQuotaReserved) ? 1 : 0);
  };
  return weight(a) < weight(b);
}

api::WorkloadStatus AfterRelease(const api::Workload& workload, bool may_come_back, WallTime now) {
  const api::Condition* evicted = api::FindCondition(workload.status.conditions, api::kEvicted);
  BERTH_ASSERT(evicted != nullptr);
  // The scheduler writes the reason why the Workload has no quota, after its next attempt.
  api::WorkloadStatus status =
      StatusWithoutQuota(workload, api::kPendingEvaluation, evicted->message, now);
  const bool comes_back = may_come_back && ComesBackAtOnce(evicted->reason);
  Set(workload, api::kRequeued,
      comes_back ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse, evicted->reason,
      evicted->message, now, status);
  Set(workload, api::kAdmitted, api::ConditionStatus::kFalse, api::kNoReservation,
      "The workload has no reservation", now, status);
  return status;
}

}  // namespace

api::WorkloadStatus StatusAfterRelease(const api::Workload& workload, WallTime now) {
  return AfterRelease(workload, !api::IsOfOnePod(workload.meta), now);
}

api::WorkloadStatus StatusAfterRelease(const api::Workload& workload, const JobView& job,
                                       WallTime now) {
  const bool waits = job.bare_pods && job.bare_pods->gated;
  // The eviction deletes a pod that has started.
  return AfterRelease(workload, waits || !api::IsOfOnePod(workload.meta), now);
}

api::WorkloadStatus StatusWithoutQuota(const api::Workload& workload, const std::string& reason,
                                       const std::string& message, WallTime now) {
  api::WorkloadStatus status = workload.status;
  Set(workload, api::kQuotaReserved, api::ConditionStatus::kFalse, reason, message, now, status);
  if (api::IsTrue(workload.status.conditions, api::kAdmitted)) {
    const api::Condition* admitted = api::FindCondition(workload.status.conditions, api::kAdmitted);
    const auto ran =
        std::chrono::duration_cast<std::chrono::seconds>(now - admitted->last_transition_time);
    status.accumulated_past_execution_time_seconds +=
        static_cast<std::int32_t>(std::clamp<std::int64_t>(
            ran.count(), 0, INT32_MAX - status.accumulated_past_execution_time_seconds));
    Set(workload, api::kAdmitted, api::ConditionStatus::kFalse, api::kNoReservation,
        "The workload has no reservation", now, status);
  }
  status.admission.reset();
  return status;
}

const api::Workload* OwnWorkload(const std::vector<api::Workload>& workloads,
                                 const std::string& uid) {
  const api::Workload* own = nullptr;
  for (const api::Workload& each : workloads) {
    const api::OwnerReference* owner = api::ControllerOf(each.meta);
    if (owner == nullptr || owner->uid != uid) continue;
    if (own == nullptr || !TellsLess(each, *own)) own = &each;
  }
  return own;
}

}  // namespace berth::integrations

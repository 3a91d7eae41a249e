#include "integrations/release.h"

#include <algorithm>

#include "api/reasons.h"
#include "base/assert.h"

namespace berth::integrations {
namespace {

constexpr char kEvictedByPreemption[] = "Preempted";

// A Workload of one pod ends with the pod, which the eviction deletes.
bool IsOfOnePod(const api::Workload& workload) {
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  return owner != nullptr && owner->kind == "Pod" && owner->api_version == "v1";
}

// Other evictions are requeued when their cause is over: after a backoff or a reactivation.
bool ComesBackAtOnce(const api::Workload& workload, const std::string& eviction_reason) {
  if (IsOfOnePod(workload)) return false;
  return eviction_reason == kEvictedByPreemption || eviction_reason == api::kNodeFailures;
}

class Release {
 public:
  Release(const api::Workload& workload, WallTime now)
      : workload_(workload), now_(now), status_(workload.status) {}

  void Set(const char* type, api::ConditionStatus value, std::string why, std::string text) {
    api::SetCondition(status_.conditions, {.type = type,
                                           .status = value,
                                           .reason = std::move(why),
                                           .message = std::move(text),
                                           .last_transition_time = CutToSeconds(now_),
                                           .observed_generation = workload_.meta.generation});
  }
  // No admission, and the time admitted added to the total.
  api::WorkloadStatus End() {
    if (api::IsTrue(workload_.status.conditions, api::kAdmitted)) {
      const api::Condition* admitted =
          api::FindCondition(workload_.status.conditions, api::kAdmitted);
      const auto ran =
          std::chrono::duration_cast<std::chrono::seconds>(now_ - admitted->last_transition_time);
      status_.accumulated_past_execution_time_seconds +=
          static_cast<std::int32_t>(std::clamp<std::int64_t>(
              ran.count(), 0, INT32_MAX - status_.accumulated_past_execution_time_seconds));
    }
    Set(api::kAdmitted, api::ConditionStatus::kFalse, api::kNoReservation,
        "The workload has no reservation");
    status_.admission.reset();
    return status_;
  }

 private:
  const api::Workload& workload_;
  const WallTime now_;
  api::WorkloadStatus status_;
};

}  // namespace

api::WorkloadStatus StatusAfterRelease(const api::Workload& workload, WallTime now) {
  const api::Condition* evicted = api::FindCondition(workload.status.conditions, api::kEvicted);
  BERTH_ASSERT(evicted != nullptr);
  Release release(workload, now);
  release.Set(api::kRequeued,
              ComesBackAtOnce(workload, evicted->reason) ? api::ConditionStatus::kTrue
                                                         : api::ConditionStatus::kFalse,
              evicted->reason, evicted->message);
  // The scheduler writes the reason why the Workload has no quota, after its next attempt.
  release.Set(api::kQuotaReserved, api::ConditionStatus::kFalse, api::kPendingEvaluation,
              evicted->message);
  return release.End();
}

}  // namespace berth::integrations

#include "integrations/pods_ready_condition.h"

#include "api/pods_ready.h"
#include "api/reasons.h"

namespace berth::integrations {
namespace {

constexpr char kWaitForRecovery[] = "WaitForRecovery";
constexpr char kStarted[] = "Started";
constexpr char kRecovered[] = "Recovered";

api::Condition Of(api::ConditionStatus status, const char* reason, const char* message) {
  return {.type = api::kPodsReady, .status = status, .reason = reason, .message = message};
}

}  // namespace

api::Condition PodsReadyCondition(const JobView& job, const api::Workload& workload) {
  // For a job that is being stopped this is the state of the next start: it may be admitted again
  // before the next reconcile, and its own stop must not count as a loss of pods.
  const auto& conditions = workload.status.conditions;
  if (!api::IsTrue(conditions, api::kAdmitted) || api::IsTrue(conditions, api::kEvicted)) {
    return api::PodsNotStarted();
  }
  const api::Condition* before = api::FindCondition(workload.status.conditions, api::kPodsReady);
  if (job.pods_ready) {
    const bool recovered =
        before != nullptr && (before->reason == kWaitForRecovery || before->reason == kRecovered);
    return Of(api::ConditionStatus::kTrue, recovered ? kRecovered : kStarted,
              "All pods reached readiness and the workload is running");
  }
  const bool was_ready = before != nullptr && (before->status == api::ConditionStatus::kTrue ||
                                               before->reason == kWaitForRecovery);
  if (!was_ready) return api::PodsNotStarted();
  return Of(api::ConditionStatus::kFalse, kWaitForRecovery,
            "At least one pod has failed, waiting for recovery");
}

std::string PendingChecksMessage(const api::Workload& workload) {
  std::string message;
  for (const api::AdmissionCheckState& check : workload.status.admission_checks) {
    if (check.state != api::CheckState::kPending || check.message.empty()) continue;
    if (!message.empty()) message += "; ";
    message += check.name + ": " + check.message;
  }
  return message;
}

}  // namespace berth::integrations

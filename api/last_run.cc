#include "api/last_run.h"

#include "api/condition.h"
#include "api/reasons.h"

namespace berth::api {

std::optional<Duration> LastRunOf(const Workload& workload) {
  const auto& conditions = workload.status.conditions;
  const Condition* admitted = FindCondition(conditions, kAdmitted);
  const Condition* finished = FindCondition(conditions, kFinished);
  if (admitted == nullptr || admitted->status != ConditionStatus::kTrue) return std::nullopt;
  if (finished == nullptr || finished->status != ConditionStatus::kTrue) return std::nullopt;
  const Duration ran = finished->last_transition_time - admitted->last_transition_time;
  if (ran < Duration::zero()) return std::nullopt;
  return ran;
}

}  // namespace berth::api

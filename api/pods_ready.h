// api/pods_ready.h — the condition PodsReady of a Workload whose pods have not been ready since the
// Workload was admitted. Admission and the job controllers write the condition.
//
// Source: Kueue pkg/controller/jobframework (generatePodsReadyCondition).
#pragma once

#include "api/condition.h"
#include "api/reasons.h"

namespace berth::api {

inline constexpr char kWaitForStart[] = "WaitForStart";

inline Condition PodsNotStarted() {
  return {.type = kPodsReady,
          .status = ConditionStatus::kFalse,
          .reason = kWaitForStart,
          .message = "Not all pods are ready or succeeded"};
}

inline bool SaysPodsNotStarted(const Condition& condition) {
  return condition.type == kPodsReady && condition.status == ConditionStatus::kFalse &&
         condition.reason == kWaitForStart;
}

}  // namespace berth::api

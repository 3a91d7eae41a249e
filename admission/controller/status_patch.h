// admission/controller/status_patch.h — the server-side apply document for what the admission side
// owns of a Workload's status (field manager kueue-admission).
//
// Owned: admission, requeueState, admissionChecks, schedulingStats, unhealthyNodes,
// resourceRequests, accumulatedPastExecutionTimeSeconds, and every condition but PodsReady and
// Finished. What was applied before and is left out is removed by the API server.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "api/workload.h"

namespace berth::admission {

// Strict: it carries uid and resourceVersion of `base`, so that a status computed from a stale
// object is refused (kConflict).
nlohmann::json AdmissionStatusPatch(const api::Workload& base, const api::WorkloadStatus& status);

}  // namespace berth::admission

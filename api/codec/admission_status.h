// api/codec/admission_status.h — the server-side apply document for what the admission side owns of
// a Workload's status (field manager kueue-admission). Whoever writes as that manager, the job
// controller that releases quota too, writes this.
//
// Owned: admission, requeueState, admissionChecks, schedulingStats, unhealthyNodes,
// resourceRequests, accumulatedPastExecutionTimeSeconds, and every condition but PodsReady and
// Finished. What was applied before and is left out is removed by the API server.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "api/workload.h"

namespace berth::api {

// Strict: it carries uid and resourceVersion of `base`, so that a status computed from a stale
// object is refused (kConflict).
nlohmann::json AdmissionStatusPatch(const Workload& base, const WorkloadStatus& status);

// The same document with `status` as it stands, for other managers of parts of it; as strict.
nlohmann::json StatusPatch(const Workload& base, nlohmann::json status);

}  // namespace berth::api

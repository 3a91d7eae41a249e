// api/codec/admission_status.h — the server-side apply document for the fields of a Workload's
// status that the field manager kueue-admission owns. Every component that writes as that manager
// applies this document, also the job reconciler when it releases quota.
//
// Owned: admission, requeueState, admissionChecks, schedulingStats, unhealthyNodes,
// resourceRequests, accumulatedPastExecutionTimeSeconds, and every condition but Finished and
// PodsReady. PodsReady is owned too while it says that the pods have not started: the admission
// writes it, and the first report of the job's controller takes it over. The API server removes an
// owned field that the manager applied once and leaves out.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "api/workload.h"

namespace berth::api {

// Carries uid and resourceVersion of `base`: the API server refuses a status that was computed from
// a stale object (kConflict).
nlohmann::json AdmissionStatusPatch(const Workload& base, const WorkloadStatus& status);

// A document with `status` as given, for other field managers of parts of the status. It carries
// uid and resourceVersion, too.
nlohmann::json StatusPatch(const Workload& base, nlohmann::json status);

}  // namespace berth::api

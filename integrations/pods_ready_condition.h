// integrations/pods_ready_condition.h — the PodsReady condition of a Workload.
//
//                     pods ready                  a pod lost
//     WaitForStart ──────────────▶ Started ──────────────────▶ WaitForRecovery
//      (False)                      (True) ◀──Recovered (True)──┘ pods ready
//
// Source: Kueue pkg/controller/jobframework (generatePodsReadyCondition).
#pragma once

#include <string>

#include "api/condition.h"
#include "api/workload.h"
#include "integrations/job_view.h"

namespace berth::integrations {

// The condition for the job's state. The caller sets transition time and generation.
api::Condition PodsReadyCondition(const JobView& job, const api::Workload& workload);

// The messages of pending checks, such as the estimated arrival of capacity; empty: there are none.
std::string PendingChecksMessage(const api::Workload& workload);

}  // namespace berth::integrations

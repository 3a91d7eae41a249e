// integrations/gate_plan.h — plans how a Workload follows the admission gates of its job, the
// annotation kueue.x-k8s.io/admission-gated-by.
//
// Threads: pure functions. Errors: none. Source: Kueue pkg/controller/jobframework/reconciler.go.
#pragma once

#include <vector>

#include "integrations/action_plan.h"

namespace berth::integrations {

// The Workload loses the gates that its job has lost. Gates are never added, because another client
// may have opened a gate on the Workload itself. The gates of pods, and of jobs with a prebuilt
// Workload, do not change the Workload.
std::vector<JobAction> PlanGates(const JobView& job, const api::Workload& workload);

}  // namespace berth::integrations

// integrations/annotation_plan.h — plans how a Workload that waits follows annotations of its job:
// the admission gates (kueue.x-k8s.io/admission-gated-by) and the deadline (berth.dev/deadline).
//
// Threads: pure functions. Errors: none. Source: Kueue pkg/controller/jobframework/reconciler.go.
#pragma once

#include <vector>

#include "integrations/action_plan.h"

namespace berth::integrations {

// The Workload loses the gates that its job has lost. Gates are never added, because another client
// may have opened a gate on the Workload itself. A deadline of the job replaces that of the
// Workload; a job without one that can be read leaves the
// Workload's. The annotations of pods, and of jobs with a
// prebuilt Workload, do not change the Workload.
std::vector<JobAction> PlanAnnotations(const JobView& job, const api::Workload& workload);

}  // namespace berth::integrations

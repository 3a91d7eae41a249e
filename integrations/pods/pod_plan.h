// integrations/pods/pod_plan.h — plans the next actions for a pod, or a group of pods.
//
// Around the plan of all kinds (job_plan.h): a pod has no ancestor; a pod that is being deleted
// ends its Workload; a group first removes surplus and replaced pods, adds its pods as owners of
// the Workload, and writes the condition that says whether pods are absent.
//
// Threads: pure functions. Source: Kueue pkg/controller/jobs/pod.
#pragma once

#include "base/clock.h"
#include "integrations/action_plan.h"
#include "integrations/pods/pod_group.h"

namespace berth::integrations {

// `situation.job` is ignored. `situation.workloads`: the Workloads that the pod controls; for a
// group, the Workload of its name.
JobPlan PlanPods(const PodsOfJob& job, JobSituation situation, WallTime now);

}  // namespace berth::integrations

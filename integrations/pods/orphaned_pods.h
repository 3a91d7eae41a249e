// integrations/pods/orphaned_pods.h — plans for pods whose parent (pod_parent.h) is gone: it was
// deleted without its dependents, or pods that no object controls name it.
//
//     gated, with a Workload   the Workload goes on: it is admitted, and its pods start
//     gated, without one       loses its gates: nothing will ever admit the pod
//
// Threads: pure functions. Source: Kueue pkg/controller/jobs/leaderworkerset (pods of a deleted set
// are let go).
#pragma once

#include <vector>

#include "integrations/action_plan.h"
#include "integrations/pods/pod_parent.h"

namespace berth::integrations {

// `orphans`: pods of the kind that name the parent, and whose owners end with an object that has no
// controller. `workloads`: all Workloads that the parent has made, or left behind.
void LetOrphansGo(const std::vector<ParentedPodPtr>& orphans,
                  const std::vector<api::Workload>& workloads, JobPlan& plan);

// The parent does not exist. A Workload that it has left behind without a pod ends.
JobPlan PlanMissingParent(const std::vector<ParentedPodPtr>& orphans,
                          const std::vector<api::Workload>& workloads, WallTime now);

}  // namespace berth::integrations

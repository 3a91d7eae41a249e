// integrations/held_job.h — a job whose pods its own operator makes, and that no field can hold
// (Dask): its pods are created with the gate of admission, and a start removes the gate.
//
//     object + sizes + pods + Workloads ──PlanHeldJob──▶ actions
//
// One Workload has the pod sets of the object and its groups, and is admitted as one. It keeps its
// counts from its first admission on. What the job grows by afterwards is a Workload of its own (a
// growth): its pods wait gated until it is admitted, and its preemption does not end the job. The
// workers of a preempted growth are retired through the operator: the group that sizes them becomes
// smaller, and its annotation `retired` keeps the difference for the next admission. If the job
// shrinks, the pods that it has fewer are reclaimable.
//
//     Workload           worker: 2 ──▶ admitted ───────────────────────────────▶ ends with the job
//     growth 1           worker: 3 ──▶ waits ─▶ admitted ─▶ preempted, retired ─▶ waits ─▶ …
//
// A pod belongs to the Workload that its annotation names. If that Workload is not admitted,
// another Workload of the job with the same flavors and with room takes the pod over.
//
// A pod whose review did not know the job yet has no annotation of its parent, and no gate. No
// Workload counts the pod: it is deleted, and its maker creates another pod, which is held.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "integrations/action_plan.h"
#include "integrations/kind_description.h"
#include "integrations/pods/queued_pod.h"

namespace berth::integrations {

// An object of PodHold::groups.
struct PodGroupSize {
  api::ObjectMeta meta;
  std::string pod_set;
  std::int32_t replicas = 0;
  std::int32_t retired = 0;  // the number of annotation `retired`, unless it is void
};

struct HeldJob {
  KindPtr kind;
  JobView view;                    // pod sets of the object and its groups, retired pods included
  std::vector<QueuedPodPtr> pods;  // by name; QueuedPod::role is the name of the pod set
  std::vector<QueuedPodPtr> missed_pods;  // pods whose review did not know the job
  std::vector<PodGroupSize> groups;
  bool can_restart = false;  // PodHold::Restart::when
};

// The number of retired pods in the annotation of an object of `replicas`; 0: the annotation is
// absent or void.
std::int32_t RetiredPods(const api::StringMap& annotations, std::int32_t replicas);

// The growth that the Workload admits; 0: the job itself.
std::int32_t GrowthOf(const api::Workload& workload);

JobPlan PlanHeldJob(const HeldJob& job, const JobSituation& situation, WallTime now);

}  // namespace berth::integrations

// integrations/held_job.h — a job whose pods its own operator makes, and that no field can hold
// (Dask): its pods are created with the gate of admission, and a start takes the gate off.
//
//     object + sizes + pods + Workloads ──PlanHeldJob──▶ actions
//
// One Workload has the pod sets of the object and its groups, and is admitted as one. It keeps its
// counts from its first admission on. What the job grows by afterwards is a Workload of its own (a
// growth): its pods wait gated until it is admitted, and its preemption does not end the job. The
// workers of a preempted growth are retired through the operator: the group that sizes them
// becomes smaller, and its annotation `retired` keeps the difference for the next admission. What
// the job shrinks by is reclaimable.
//
//     Workload           worker: 2 ──▶ admitted ───────────────────────────────▶ ends with the job
//     growth 1           worker: 3 ──▶ waits ─▶ admitted ─▶ preempted, retired ─▶ waits ─▶ …
//
// A pod belongs to the Workload that its annotation names. Where that one is not admitted, another
// one with the same flavors and room takes it over.
//
// A pod whose review did not know the job yet has no annotation of its parent, and no gate. No
// Workload counts it: it is deleted, and what made it makes one that is held.
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
  JobView view;  // pod sets: those that the object and its groups ask for, retired pods included
  std::vector<QueuedPodPtr> pods;         // by name; QueuedPod::role is the name of the pod set
  std::vector<QueuedPodPtr> missed_pods;  // those whose review did not know the job
  std::vector<PodGroupSize> groups;
  bool can_restart = false;  // PodHold::Restart::when
};

// The number of retired pods that the annotation tells of an object of `replicas`; 0: none, or
// void.
std::int32_t RetiredPods(const api::StringMap& annotations, std::int32_t replicas);

// The growth that the Workload admits; 0: the job itself.
std::int32_t GrowthOf(const api::Workload& workload);

JobPlan PlanHeldJob(const HeldJob& job, const JobSituation& situation, WallTime now);

}  // namespace berth::integrations

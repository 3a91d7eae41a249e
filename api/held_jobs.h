// api/held_jobs.h — the annotations of jobs whose pods are held by their gates
// (integrations/held_job.h), and of jobs that are held by their numbers of pods.
#pragma once

namespace berth::api {

// On a Workload: the number of the growth of its job that it admits. The Workload without it admits
// the job itself.
inline constexpr char kGrowthAnnotation[] = "integrations.berth.dev/growth";
// On a started pod: the name of the Workload that counts it.
inline constexpr char kPodWorkloadAnnotation[] = "integrations.berth.dev/workload";
// On an object that sizes a pod set, as "2@4": a preemption has made it 2 smaller, to 4. The
// annotation is void if the object has another size.
inline constexpr char kRetiredAnnotation[] = "integrations.berth.dev/retired";

// On an object of a kind that is held by its numbers of pods (integrations/object_hold.h): the
// numbers that its owner wants, as JSON by field.
inline constexpr char kHeldReplicasAnnotation[] = "berth.dev/held-replicas";

}  // namespace berth::api

// local/cluster/jobs/job_plan.h — plans one reconcile of a Job: the decisions of the Job
// controller.
//
//     Job + its pods + now  --PlanJob-->  pods to create and delete, the next status, finalizers
//
// Counting has two phases, so that a crash at any point counts no pod twice: a terminal pod's uid
// is added to status.uncountedTerminatedPods (an index to completedIndexes); then the pod loses its
// tracking finalizer; then the uid is removed and the counter incremented.
//
// Pure. Source: Kubernetes "Jobs", KEP-2307, KEP-3329, KEP-3850.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "local/cluster/jobs/job_state.h"
#include "local/cluster/objects/planned_event.h"

namespace berth::local::cluster {

// Perform the members in this order.
struct JobPlan {
  std::vector<std::size_t> discard;  // pods to release and delete; they are not counted
  std::vector<std::size_t> remove;   // pods to delete; they are counted
  std::vector<Json> create;
  std::optional<Json> status;        // nullopt: unchanged
  std::vector<std::size_t> release;  // pods to release once `status` is written
  std::vector<PlannedEvent> events;  // to record once `status` is written
  bool delete_job = false;           // ttlSecondsAfterFinished is over
  std::optional<WallTime> look_again;
};

JobPlan PlanJob(const JobView& view, WallTime now);

}  // namespace berth::local::cluster

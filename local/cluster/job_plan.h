// local/cluster/job_plan.h — what to do next about one Job: the whole of the Job controller.
//
//     Job + its pods + now  --PlanJob-->  pods to create and delete, the next status, finalizers
//
// Counting is in two phases, so that a crash at any point counts no pod twice: a terminal pod's uid
// goes to status.uncountedTerminatedPods (an index to completedIndexes), then the pod loses its
// tracking finalizer, then the uid becomes one more in the counter.
//
// Pure: same arguments, same answer. Source: Kubernetes "Jobs", KEP-2307, KEP-3329, KEP-3850.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kube/runtime/event_type.h"
#include "local/cluster/job_view.h"

namespace berth::local::cluster {

using kube::EventType;

struct PlannedEvent {
  EventType type = EventType::kNormal;
  std::string reason;
  std::string message;
  friend bool operator==(const PlannedEvent&, const PlannedEvent&) = default;
};

// To be performed in this order.
struct JobPlan {
  std::vector<std::size_t> discard;  // pods that lose their finalizer, then are deleted: uncounted
  std::vector<std::size_t> remove;   // pods that are deleted, and counted
  std::vector<Json> create;
  std::optional<Json> status;        // null: as it is
  std::vector<std::size_t> release;  // pods that lose their finalizer, once `status` is written
  std::vector<PlannedEvent> events;  // once `status` is written
  bool delete_job = false;           // its time to live is over
  std::optional<WallTime> look_again;
};

JobPlan PlanJob(const JobView& view, WallTime now);

}  // namespace berth::local::cluster

// local/cluster/replicas/stateful_set_plan.h — plans one reconcile of a StatefulSet.
//
//     StatefulSet + pods + revisions + now  --PlanStatefulSet-->  revision, pods to create and
//                                                                 delete, status, events
//
// Ordered and parallel pod management, rolling updates with partition and maxUnavailable, OnDelete.
//
// Pure. Source: Kubernetes "StatefulSets", stateful set controller, restated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/api.h"
#include "local/cluster/objects/planned_event.h"
#include "local/cluster/replicas/revisions.h"

namespace berth::local::cluster {

struct StatefulSetView {
  Object set;
  std::vector<Object> pods;       // pods of the set, and pods of its namespace without a controller
  std::vector<Object> revisions;  // the revisions of the set
  std::optional<WallTime> create_not_before;
};

// Positions are those in StatefulSetView::pods. Perform the members in this order.
struct StatefulSetPlan {
  std::vector<std::size_t> adopt;
  std::vector<std::size_t> release;
  std::optional<Json> create_revision;
  std::optional<Json> change_revision;
  std::vector<std::size_t> condemned;  // pods above the wanted size, for their claims
  std::vector<Json> change;            // pods with restored labels
  std::vector<std::int64_t> ordinals;  // the ordinals of `create`
  std::vector<Json> create;
  std::vector<std::size_t> remove;
  std::vector<PlannedEvent> events;
  std::optional<Json> status;  // nullopt: unchanged
  std::vector<Object> remove_revisions;
  std::optional<WallTime> look_again;
};

StatefulSetPlan PlanStatefulSet(const StatefulSetView& view, WallTime now);

}  // namespace berth::local::cluster

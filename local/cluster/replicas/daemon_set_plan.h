// local/cluster/replicas/daemon_set_plan.h — plans one reconcile of a DaemonSet.
//
//     DaemonSet + nodes + pods + revisions + now  --PlanDaemonSet-->  pods to create and delete,
//                                                                     revision, status, events
//
// One pod for each node that node selection and taints allow; rolling updates with maxUnavailable
// or maxSurge, OnDelete.
//
// Pure. Source: Kubernetes "DaemonSet", daemon set controller, restated.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/api.h"
#include "local/cluster/objects/planned_event.h"
#include "local/cluster/replicas/revisions.h"

namespace berth::local::cluster {

struct DaemonSetView {
  Object set;
  std::vector<Object> nodes;      // all of them, by name
  std::vector<Object> pods;       // pods of the set, and pods of its namespace without a controller
  std::vector<Object> revisions;  // the revisions of the set
  std::optional<WallTime> create_not_before;
};

// Positions are those in DaemonSetView::pods. Perform the members in this order.
struct DaemonSetPlan {
  std::vector<std::size_t> adopt;
  std::vector<std::size_t> release;
  std::optional<Json> create_revision;
  std::optional<Json> change_revision;
  std::vector<Json> create;
  std::vector<std::size_t> remove;
  std::vector<PlannedEvent> events;
  std::optional<Json> status;  // nullopt: unchanged
  std::vector<Object> remove_revisions;
  std::optional<WallTime> look_again;
};

DaemonSetPlan PlanDaemonSet(const DaemonSetView& view, WallTime now);

// Whether a pod of the set should run on a node, and whether a pod that runs there may continue.
struct DaemonFit {
  bool should_run = false;
  bool may_continue = false;
};
DaemonFit FitOf(const Json& set, const Json& node);

// The pod of `node`; the binder places it there alone.
Json MakeDaemonPod(const Json& set, const std::string& node, const std::string& hash);

// The node that a pod of a DaemonSet is meant for; "": none.
std::string NodeOfDaemonPod(const Json& pod);

}  // namespace berth::local::cluster

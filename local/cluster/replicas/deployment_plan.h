// local/cluster/replicas/deployment_plan.h — plans one reconcile of a Deployment.
//
//     Deployment + ReplicaSets + now  --PlanDeployment-->  ReplicaSets to create, change, delete;
//                                                           revision, status, events
//
// Rolling updates within maxSurge and maxUnavailable, Recreate, pauses, proportional scaling, the
// history of revisions, and the conditions Available and Progressing.
//
// Pure. Source: Kubernetes "Deployments", deployment controller, restated. The hash of a pod
// template is stable, but differs from upstream's.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/api.h"
#include "local/cluster/objects/planned_event.h"

namespace berth::local::cluster {

inline constexpr char kRevision[] = "deployment.kubernetes.io/revision";
inline constexpr char kPodTemplateHash[] = "pod-template-hash";

struct DeploymentView {
  Object deployment;
  // The ReplicaSets of the Deployment, and ReplicaSets of its namespace without a controller.
  std::vector<Object> sets;
  // Whether a pod of an earlier template has not ended; read for the strategy Recreate alone.
  bool old_pods_run = false;
};

// Positions are those in DeploymentView::sets. Perform the members in this order.
struct DeploymentPlan {
  std::vector<std::size_t> adopt;
  std::vector<std::size_t> release;
  std::vector<Json> change;             // ReplicaSets with new replicas or annotations
  std::optional<Json> create;           // the ReplicaSet of the present template
  std::vector<std::size_t> remove;      // beyond revisionHistoryLimit
  std::optional<std::string> revision;  // nullopt: the annotation is unchanged
  std::optional<Json> status;           // nullopt: unchanged
  std::vector<PlannedEvent> events;
  std::optional<WallTime> look_again;
};

DeploymentPlan PlanDeployment(const DeploymentView& view, WallTime now);

// Whether the ReplicaSet has the Deployment's present template.
bool HasTemplateOf(const Json& set, const Json& deployment);

// The name part and label of the template's ReplicaSet; `collisions` changes it.
std::string PodTemplateHash(const Json& pod_template, std::int64_t collisions);

}  // namespace berth::local::cluster

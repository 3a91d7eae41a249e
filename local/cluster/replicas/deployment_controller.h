// local/cluster/replicas/deployment_controller.h — watches Deployments and their ReplicaSets, calls
// PlanDeployment, performs the plan.
//
// Threads: as ObjectCache.
#pragma once

#include "base/clock.h"
#include "base/executor.h"
#include "local/cluster/objects/looks.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/object_events.h"
#include "local/cluster/objects/writer.h"
#include "local/cluster/replicas/deployment_plan.h"

namespace berth::local::cluster {

class DeploymentController {
 public:
  // Registers its indexes and listeners; call before the cache tracks pods, ReplicaSets and
  // Deployments.
  DeploymentController(Api& api, ObjectCache& cache, Executor& executor, Executor& event_writes,
                       const Clock& clock);
  DeploymentController(const DeploymentController&) = delete;
  DeploymentController& operator=(const DeploymentController&) = delete;

  // Reconciles all present Deployments. Call after the cache is filled.
  void Start();

 private:
  void OnSet(const ObjectChange& change);
  void OnPodGone(const Json& pod);
  Result<NextLook> Look(const ObjectKey& key);
  DeploymentView View(const Object& deployment) const;
  Status Perform(const DeploymentView& view, const DeploymentPlan& plan);
  Status Claim(const DeploymentView& view, const DeploymentPlan& plan);
  Status CreateSet(const Json& deployment, const Json& set);
  Status WriteDeployment(const Json& deployment, const DeploymentPlan& plan);

  ObjectCache& cache_;
  const Clock& clock_;
  Writer writer_;
  ObjectEvents events_;
  FunctionController deployments_;
};

}  // namespace berth::local::cluster

// local/cluster/replicas/daemon_set_controller.h — watches DaemonSets, nodes and pods, calls
// PlanDaemonSet, performs the plan.
//
// Threads: as ObjectCache.
#pragma once

#include "base/clock.h"
#include "base/executor.h"
#include "local/cluster/objects/create_backoffs.h"
#include "local/cluster/objects/looks.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/object_events.h"
#include "local/cluster/objects/writer.h"
#include "local/cluster/replicas/daemon_set_plan.h"

namespace berth::local::cluster {

class DaemonSetController {
 public:
  // Registers its indexes and listeners; call before the cache tracks pods, nodes,
  // ControllerRevisions and DaemonSets.
  DaemonSetController(Api& api, ObjectCache& cache, Executor& executor, Executor& event_writes,
                      const Clock& clock);
  DaemonSetController(const DaemonSetController&) = delete;
  DaemonSetController& operator=(const DaemonSetController&) = delete;

  // Reconciles all present DaemonSets. Call after the cache is filled.
  void Start();

 private:
  void OnPod(const ObjectChange& change);
  void OnNode(const ObjectChange& change);
  Result<NextLook> Look(const ObjectKey& key);
  Status Perform(const DaemonSetView& view, const DaemonSetPlan& plan);
  void CreatePods(const Json& set, const DaemonSetPlan& plan);

  ObjectCache& cache_;
  const Clock& clock_;
  Writer writer_;
  ObjectEvents events_;
  FunctionController sets_;
  CreateBackoffs backoffs_;
};

}  // namespace berth::local::cluster

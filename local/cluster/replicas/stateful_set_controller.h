// local/cluster/replicas/stateful_set_controller.h — watches StatefulSets and their pods, calls
// PlanStatefulSet, performs the plan; makes the claims of their volumes.
//
// PersistentVolumeClaims are watched once a StatefulSet has volumeClaimTemplates.
//
// Threads: as ObjectCache.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/executor.h"
#include "local/cluster/objects/create_backoffs.h"
#include "local/cluster/objects/looks.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/object_events.h"
#include "local/cluster/objects/writer.h"
#include "local/cluster/replicas/stateful_set_plan.h"

namespace berth::local::cluster {

class StatefulSetController {
 public:
  // Registers its indexes and listeners; call before the cache tracks pods, ControllerRevisions and
  // StatefulSets.
  StatefulSetController(Api& api, ObjectCache& cache, Executor& executor, Executor& event_writes,
                        const Clock& clock);
  StatefulSetController(const StatefulSetController&) = delete;
  StatefulSetController& operator=(const StatefulSetController&) = delete;

  // Reconciles all present StatefulSets. Call after the cache is filled.
  void Start();

 private:
  void OnPod(const ObjectChange& change);
  Result<NextLook> Look(const ObjectKey& key);
  Status Perform(const StatefulSetView& view, const StatefulSetPlan& plan);
  Status Claim(const StatefulSetView& view, const StatefulSetPlan& plan);
  Status CreatePods(const Json& set, const StatefulSetPlan& plan);
  // Returns false if a claim could not be made; the pod has to wait then.
  bool MakeClaims(const Json& set, std::int64_t ordinal, const std::string& pod);
  Status KeepClaims(const StatefulSetView& view, const StatefulSetPlan& plan);
  void ReportFailure(const Json& set, const std::string& what, const std::string& why);

  ObjectCache& cache_;
  const Clock& clock_;
  Writer writer_;
  ObjectEvents events_;
  FunctionController sets_;
  CreateBackoffs backoffs_;
};

}  // namespace berth::local::cluster

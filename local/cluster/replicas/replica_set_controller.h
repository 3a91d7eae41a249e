// local/cluster/replicas/replica_set_controller.h — watches ReplicaSets, or ReplicationControllers,
// and their pods, calls PlanReplicaSet, performs the plan.
//
// A ReplicationController is a ReplicaSet whose selector is a map of labels, as in
// kube-controller-manager.
//
// Threads: as ObjectCache.
#pragma once

#include <map>
#include <string>

#include "base/clock.h"
#include "base/executor.h"
#include "local/cluster/objects/create_backoff.h"
#include "local/cluster/objects/looks.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/object_events.h"
#include "local/cluster/objects/writer.h"
#include "local/cluster/replicas/replica_set_plan.h"

namespace berth::local::cluster {

enum class ReplicaKinds { kSets, kControllers };

class ReplicaSetController {
 public:
  // Registers its indexes and listeners; call before the cache tracks pods and ReplicaSets.
  ReplicaSetController(Api& api, ObjectCache& cache, Executor& executor, Executor& event_writes,
                       const Clock& clock, ReplicaKinds kinds);
  ReplicaSetController(const ReplicaSetController&) = delete;
  ReplicaSetController& operator=(const ReplicaSetController&) = delete;

  // Reconciles all present ReplicaSets. Call after the cache is filled.
  void Start();

 private:
  void OnPod(const ObjectChange& change);
  Result<NextLook> Look(const ObjectKey& key);
  Status Claim(const ReplicaSetView& view, const ReplicaSetPlan& plan);
  void CreatePods(const ObjectKey& key, const Json& set, std::size_t count);

  // Returns a copy whose spec.selector has the form of a ReplicaSet's.
  Object AsReplicaSet(const Object& object) const;

  const ReplicaKinds kinds_;
  const ResourceId& resource_;
  ObjectCache& cache_;
  const Clock& clock_;
  Writer writer_;
  ObjectEvents events_;
  FunctionController sets_;
  std::map<ObjectKey, CreateBackoff> create_backoffs_;
};

}  // namespace berth::local::cluster

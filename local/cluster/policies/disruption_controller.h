// local/cluster/policies/disruption_controller.h — watches PodDisruptionBudgets, pods and their
// controllers, and writes the status of the budgets.
//
// The API spends a budget at each eviction (registry/eviction_rule.h); the API refuses a write of
// this controller that did not see that eviction, by the resourceVersion.
//
// Threads: as ObjectCache.
#pragma once

#include "base/clock.h"
#include "base/executor.h"
#include "local/cluster/objects/looks.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/writer.h"
#include "local/cluster/policies/disruption_plan.h"

namespace berth::local::cluster {

class DisruptionController {
 public:
  // Registers its listeners; call before the cache tracks pods and PodDisruptionBudgets.
  DisruptionController(Api& api, ObjectCache& cache, Executor& executor, const Clock& clock);
  DisruptionController(const DisruptionController&) = delete;
  DisruptionController& operator=(const DisruptionController&) = delete;

  // Reconciles all present budgets. Call after the cache is filled.
  void Start();

 private:
  void OnPod(const ObjectChange& change);
  Result<NextLook> Look(const ObjectKey& key);
  DisruptionView View(const Object& budget) const;
  // The wanted size of the object that decides about the pod; nullopt: none is known.
  std::optional<std::int64_t> SizeFor(const Json& pod, const Json& owner) const;

  ObjectCache& cache_;
  const Clock& clock_;
  Writer writer_;
  FunctionController budgets_;
};

}  // namespace berth::local::cluster

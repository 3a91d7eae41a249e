// local/cluster/jobs/job_controller.h — watches Jobs and their pods, calls PlanJob, performs the
// plan.
//
// Threads: as ObjectCache.
#pragma once

#include <map>

#include "base/clock.h"
#include "base/executor.h"
#include "local/cluster/jobs/job_plan.h"
#include "local/cluster/objects/create_backoff.h"
#include "local/cluster/objects/looks.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/object_events.h"
#include "local/cluster/objects/writer.h"

namespace berth::local::cluster {

class JobController {
 public:
  // Registers its indexes and listeners; call before the cache tracks pods and jobs.
  JobController(Api& api, ObjectCache& cache, Executor& executor, Executor& event_writes,
                const Clock& clock);
  JobController(const JobController&) = delete;
  JobController& operator=(const JobController&) = delete;

  // Reconciles all present Jobs. Call after the cache is filled.
  void Start();

 private:
  void OnPod(const ObjectChange& change);
  Result<NextLook> LookAtJob(const ObjectKey& key);
  Result<NextLook> LookAtOrphan(const ObjectKey& key);
  JobView View(const Object& job, const ObjectKey& key) const;
  Status Perform(const ObjectKey& key, const JobView& view, const JobPlan& plan);
  Status RemovePods(const JobView& view, const JobPlan& plan);
  void CreatePods(const ObjectKey& key, const JobView& view, const JobPlan& plan);
  Status Release(const Json& pod);

  ObjectCache& cache_;
  const Clock& clock_;
  Writer writer_;
  ObjectEvents events_;
  FunctionController jobs_;
  FunctionController orphans_;  // pods without a Job: removes the finalizer
  std::map<ObjectKey, CreateBackoff> create_backoffs_;
};

}  // namespace berth::local::cluster

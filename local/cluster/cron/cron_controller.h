// local/cluster/cron/cron_controller.h — watches CronJobs and their Jobs, calls PlanCronJob,
// performs the plan.
//
// Threads: as ObjectCache.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/executor.h"
#include "local/cluster/cron/cron_plan.h"
#include "local/cluster/objects/looks.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/object_events.h"
#include "local/cluster/objects/writer.h"

namespace berth::local::cluster {

class CronController {
 public:
  // Registers its indexes and listeners; call before the cache tracks Jobs and CronJobs.
  CronController(Api& api, ObjectCache& cache, Executor& executor, Executor& event_writes,
                 const Clock& clock);
  CronController(const CronController&) = delete;
  CronController& operator=(const CronController&) = delete;

  // Reconciles all present CronJobs. Call after the cache is filled.
  void Start();

 private:
  Result<NextLook> Look(const ObjectKey& key);
  Status Perform(const CronView& view, CronPlan plan);
  Status Remove(const Json& cron_job, const Json& job);
  // Returns false if no Job was created; `status` is unchanged then.
  bool CreateJob(const Json& cron_job, const Json& job, Json& status);

  ObjectCache& cache_;
  const Clock& clock_;
  Writer writer_;
  ObjectEvents events_;
  FunctionController cron_jobs_;
};

}  // namespace berth::local::cluster

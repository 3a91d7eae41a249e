// local/cluster/cron/cron_plan.h — plans one reconcile of a CronJob.
//
//     CronJob + its Jobs + now  --PlanCronJob-->  a Job to create, Jobs to delete, status, events
//
// Concurrency policies, starting deadlines, suspension, limits of the history, time zones.
//
// Pure. Source: Kubernetes "CronJob", cron job controller, restated.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/time_zone.h"
#include "local/apiserver/api.h"
#include "local/cluster/objects/planned_event.h"

namespace berth::local::cluster {

struct CronView {
  Object cron_job;
  std::vector<Object> jobs;      // the Jobs of the CronJob
  std::optional<TimeZone> zone;  // the zone of spec.timeZone; nullopt: unknown zone
};

// Perform the members in this order.
struct CronPlan {
  std::vector<Object> replace;  // running Jobs that the next one replaces
  std::optional<Json> create;   // the Job to create; afterwards call NoteStart on `status`
  std::vector<Object> remove;   // finished Jobs beyond the history
  std::vector<PlannedEvent> events;
  Json status;  // the next one
  std::optional<WallTime> look_again;
};

CronPlan PlanCronJob(const CronView& view, WallTime now);

// Records the start of `job`, which the plan has made, in `status`.
void NoteStart(Json& status, const Json& job);

}  // namespace berth::local::cluster

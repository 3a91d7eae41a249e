#include "simulation/present_workloads.h"

#include <algorithm>
#include <utility>

#include "api/condition.h"
#include "api/holds.h"
#include "api/reasons.h"
#include "queue/workload_info.h"

namespace berth::simulation {
namespace {

std::string WhyNotQueued(const api::Workload& workload) {
  if (!workload.spec.active) return "is deactivated: spec.active is false";
  if (api::IsGated(workload)) return "is held back by a gate";
  if (api::IsOnHold(workload)) return "is on hold";
  if (api::ClaimsDevices(workload)) return "claims devices, which the forecast does not count";
  return "is in no queue";
}

// The Workload as it is once its requeueing is due.
std::shared_ptr<const api::Workload> Requeued(const api::Workload& workload, WallTime at) {
  auto object = std::make_shared<api::Workload>(workload);
  object->status.requeue_state.reset();
  api::SetCondition(object->status.conditions, {.type = api::kRequeued,
                                                .status = api::ConditionStatus::kTrue,
                                                .reason = api::kBackoffFinished,
                                                .message = "",
                                                .last_transition_time = CutToSeconds(at),
                                                .observed_generation = workload.meta.generation});
  return object;
}

}  // namespace

bool HoldsQuota(const api::Workload& workload) {
  return workload.status.admission && api::IsTrue(workload.status.conditions, api::kQuotaReserved);
}

bool HasRun(const api::Workload& workload) {
  return HoldsQuota(workload) && api::IsTrue(workload.status.conditions, api::kAdmitted);
}

bool WaitsInQueue(const api::Workload& workload) {
  return !workload.meta.deletion_timestamp && queue::BelongsInQueue(workload) &&
         !api::ClaimsDevices(workload);
}

bool IsRunning(const api::Workload& workload) {
  return HasRun(workload) && !api::IsTrue(workload.status.conditions, api::kEvicted);
}

WallTime RunningSince(const api::Workload& workload, WallTime now) {
  const api::Condition* admitted = api::FindCondition(workload.status.conditions, api::kAdmitted);
  return std::min(admitted->last_transition_time, now);
}

StandingJobs MakeStanding(const std::vector<std::shared_ptr<const api::Workload>>& workloads,
                          WallTime now) {
  StandingJobs standing;
  for (const std::shared_ptr<const api::Workload>& workload : workloads) {
    const auto& conditions = workload->status.conditions;
    if (api::IsTrue(conditions, api::kFinished)) continue;
    Job job;
    job.object = workload;
    if (!HoldsQuota(*workload)) {
      if (workload->meta.deletion_timestamp) continue;
      if (!WaitsInQueue(*workload)) {
        standing.not_queued.push_back({workload, WhyNotQueued(*workload)});
        continue;
      }
      const auto& requeue = workload->status.requeue_state;
      if (requeue && requeue->requeue_at && *requeue->requeue_at > now) {
        job.submit = *requeue->requeue_at - now;
        job.object = Requeued(*workload, *requeue->requeue_at);
      }
    }
    standing.jobs.push_back(std::move(job));
  }
  std::stable_sort(standing.jobs.begin(), standing.jobs.end(), [](const Job& a, const Job& b) {
    if (a.submit != b.submit) return a.submit < b.submit;
    return a.object->meta.key() < b.object->meta.key();
  });
  return standing;
}

}  // namespace berth::simulation

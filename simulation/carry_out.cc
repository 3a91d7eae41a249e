#include "simulation/carry_out.h"

#include <string>

#include "admission/lifecycle/workload_lifecycle.h"
#include "admission/messages.h"
#include "api/condition.h"
#include "api/reasons.h"
#include "integrations/release.h"

namespace berth::simulation {

bool GivesQuota(const admission::Decision& decision) {
  return decision.outcome == admission::Outcome::kAdmitted ||
         decision.outcome == admission::Outcome::kQuotaReserved;
}

void Reserve(const admission::Scheduler& scheduler, const admission::Decision& decision,
             api::Workload& workload, WallTime now) {
  const std::string& queue = scheduler.state().queue(decision.cluster_queue).name;
  admission::ReserveQuota(workload.status,
                          admission::AdmissionOf(decision, scheduler.vocabulary(), queue),
                          decision.checks, workload.meta.generation, now);
}

void Preempt(const admission::Scheduler& scheduler, const admission::Decision& decision,
             const admission::Victim& victim, api::Workload& workload, WallTime now) {
  admission::Preempt(workload.status, ToString(victim.reason),
                     admission::PreemptedMessage(*decision.object, victim.reason,
                                                 scheduler.PathOf(decision.cluster_queue),
                                                 scheduler.PathOf(victim.cluster_queue)),
                     workload.meta.generation, now);
}

void Release(api::Workload& workload, WallTime now) {
  workload.status = integrations::StatusAfterRelease(workload, now);
}

bool Finish(api::Workload& workload, WallTime now, bool failed) {
  if (api::IsTrue(workload.status.conditions, api::kFinished)) return false;
  api::SetCondition(workload.status.conditions, {.type = api::kFinished,
                                                 .status = api::ConditionStatus::kTrue,
                                                 .reason = failed ? api::kFailed : api::kSucceeded,
                                                 .message = "",
                                                 .last_transition_time = CutToSeconds(now),
                                                 .observed_generation = workload.meta.generation});
  return true;
}

}  // namespace berth::simulation

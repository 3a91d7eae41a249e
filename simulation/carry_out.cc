#include "simulation/carry_out.h"

#include <string>

#include "admission/lifecycle/workload_lifecycle.h"
#include "admission/messages.h"

namespace berth::simulation {

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

}  // namespace berth::simulation

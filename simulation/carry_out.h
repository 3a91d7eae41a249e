// simulation/carry_out.h — decisions of the Scheduler carried out on Workloads, as the writes of
// the controller do. World, the worlds of the tests and the loops of the benchmarks share this.
//
// Threads: pure functions. Errors: none.
#pragma once

#include "admission/scheduler.h"
#include "api/workload.h"
#include "base/clock.h"

namespace berth::simulation {

// Gives `workload` the quota of the decision, which is kAdmitted or kQuotaReserved; with checks the
// Workload waits for these.
void Reserve(const admission::Scheduler& scheduler, const admission::Decision& decision,
             api::Workload& workload, WallTime now);

// Marks `workload`, the victim, as preempted by the Workload of the decision. The Workload keeps
// its quota until its job has stopped (integrations/release.h).
void Preempt(const admission::Scheduler& scheduler, const admission::Decision& decision,
             const admission::Victim& victim, api::Workload& workload, WallTime now);

}  // namespace berth::simulation

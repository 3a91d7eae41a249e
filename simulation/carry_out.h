// simulation/carry_out.h — decisions of the Scheduler carried out on Workloads, as the writes of
// the controller do. World, the worlds of the tests and the loops of the benchmarks share this.
//
//     kAdmitted, kQuotaReserved ──▶ Reserve          victims of kPreempting ──▶ Preempt
//     the job has ended ──▶ Finish                   the job of a victim has stopped ──▶ Release
//
// Threads: pure functions. Errors: none.
#pragma once

#include "admission/scheduler.h"
#include "api/workload.h"
#include "base/clock.h"

namespace berth::simulation {

// Whether the decision gives the Workload quota.
bool GivesQuota(const admission::Decision& decision);

// Gives `workload` the quota of the decision, which gives quota; with checks the Workload waits for
// these.
void Reserve(const admission::Scheduler& scheduler, const admission::Decision& decision,
             api::Workload& workload, WallTime now);

// Marks `workload`, the victim, as preempted by the Workload of the decision. The Workload keeps
// its quota until its job has stopped.
void Preempt(const admission::Scheduler& scheduler, const admission::Decision& decision,
             const admission::Victim& victim, api::Workload& workload, WallTime now);

// The job of the evicted `workload` has stopped: the Workload gives its quota back and waits again
// (integrations/release.h).
void Release(api::Workload& workload, WallTime now);

// The job has ended: it has succeeded, or failed. False: the Workload has finished already; nothing
// changes.
bool Finish(api::Workload& workload, WallTime now, bool failed = false);

}  // namespace berth::simulation

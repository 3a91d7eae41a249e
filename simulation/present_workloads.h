// simulation/present_workloads.h — the Workloads of a cluster at one moment as jobs that World goes
// on with.
//
//     Workloads ──MakeStanding──▶ jobs of World, and the Workloads that no queue holds
//
// Threads: pure functions. Errors: none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/workload.h"
#include "base/clock.h"
#include "simulation/jobs.h"

namespace berth::simulation {

// A Workload that neither holds quota nor waits in a queue.
struct NotQueued {
  std::shared_ptr<const api::Workload> workload;
  std::string why;
};

struct StandingJobs {
  std::vector<Job> jobs;  // by time of submission, then by key; without run times
  std::vector<NotQueued> not_queued;
};

// Finished Workloads and Workloads in deletion that hold no quota are left out. A Workload that is
// to be requeued later is submitted at that time. The jobs share `workloads`.
StandingJobs MakeStanding(const std::vector<std::shared_ptr<const api::Workload>>& workloads,
                          WallTime now);

// Whether the Workload has an admission and QuotaReserved=True; it may be evicted.
bool HoldsQuota(const api::Workload& workload);
// Whether the Workload is admitted and no eviction stops it. A Workload that has quota and no
// admission waits.
bool IsRunning(const api::Workload& workload);
// Whether the Workload has been admitted and keeps its quota: it runs, or an eviction stops it.
bool HasRun(const api::Workload& workload);
// Whether a Workload that holds no quota waits in its queue. The queue may be missing.
bool WaitsInQueue(const api::Workload& workload);
// The time at which the Workload began to run; precondition: HasRun.
WallTime RunningSince(const api::Workload& workload, WallTime now);

}  // namespace berth::simulation

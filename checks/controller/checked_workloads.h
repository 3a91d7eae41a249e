// checks/controller/checked_workloads.h — what the controllers of admission checks share:
// which Workloads they reconcile, the Job of a Workload, and how check states, memories and events
// are written.
//
// Threads: one Executor, that of the manager. Errors: of the API, prefixed with the action.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/job.h"
#include "api/workload.h"
#include "checks/check_event.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/sweep.h"
#include "kube/runtime/write_steps.h"

namespace berth::checks {

using WorkloadPtr = std::shared_ptr<const api::Workload>;

// The Workloads with checks. A controller sweeps them when it starts, because no queue holds their
// keys while it does not run.
kube::Sweep CheckedWorkloads(const kube::Informer<api::Workload>& workloads);

// The informer of Jobs that the job controllers read; null: they read none.
kube::Informer<api::Job>* JobsOf(kube::Manager& manager);
// The batch/v1 Job of the Workload; null: none, or `jobs` is null.
std::shared_ptr<const api::Job> JobOf(const kube::Informer<api::Job>* jobs,
                                      const api::Workload& workload);

// activeDeadlineSeconds of that Job; nullopt: no Job, or no deadline.
std::optional<std::int64_t> JobDeadlineOf(const kube::Informer<api::Job>* jobs,
                                          const api::Workload& workload);

// Writes check states and memories in the name of one check controller. Must outlive the manager's
// requests.
class CheckWriter {
 public:
  CheckWriter(kube::Manager& manager, kube::EventRecorder& events, const char* field_manager);

  // Writes `checks`, which are all checks of this controller: an applied configuration removes the
  // ones it leaves out. The write names the resourceVersion, so that an eviction under way is
  // never overwritten. A refused write gives an event.
  kube::Step Write(const WorkloadPtr& workload, std::vector<api::AdmissionCheckState> checks);
  // Writes the memory of checks: annotations of the Workload; an empty text removes its annotation.
  // The answer wakes the Workload for the next decision. The write names the resourceVersion, so
  // that the memory of a Workload that has changed meanwhile is kept.
  kube::Step WriteMemory(const WorkloadPtr& workload, const api::StringMap& memory);
  // A warning is recorded also on the Workload's Job.
  kube::Step Record(const WorkloadPtr& workload, CheckEvent event);

 private:
  void EndFailed(const WorkloadPtr& workload, const Error& error, std::function<void(Status)> next);

  kube::Manager& manager_;
  kube::EventRecorder& events_;
  const char* field_manager_;
  kube::Informer<api::Workload>& workloads_;
  kube::Informer<api::Job>* jobs_;
};

}  // namespace berth::checks

// admission/controller/admission_controllers.h — all controllers of queueing and admission: the
// scheduler's loop, the lifecycle of Workloads, status and finalizers of queues, flavors, checks
// and topologies; metrics and events.
//
//     AdmissionControllers admission(manager, clock, events, metrics, options);
//     manager.StartInformers(); manager.StartControllers();
//
// The API server must serve these kinds: Namespace, Workload, LocalQueue, ClusterQueue, Cohort,
// ResourceFlavor, AdmissionCheck, Topology.
//
// Threads: the manager's Executor. The manager, clock, events and metrics must outlive this object;
// destroy it after Manager::Stop and while the Executor runs none of its tasks.
#pragma once

#include <memory>

#include "admission/controller/metrics_options.h"
#include "admission/lifecycle/workload_lifecycle.h"
#include "admission/scheduler.h"
#include "base/clock.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/metrics.h"

namespace berth::admission {

struct AdmissionControllersOptions {
  SchedulerConfig scheduler;
  PodsReadyOptions pods_ready;
  std::optional<Duration> keep_finished;  // time to keep finished Workloads; nullopt: for ever
  MetricsOptions metrics;
  // Workload reconciles under way at once; Kueue's default.
  std::size_t workload_concurrency = 32;
  std::size_t queue_concurrency = 5;
};

class AdmissionControllers {
 public:
  AdmissionControllers(kube::Manager& manager, const Clock& clock, kube::EventRecorder& events,
                       kube::Metrics& metrics, const AdmissionControllersOptions& options);
  ~AdmissionControllers();
  AdmissionControllers(const AdmissionControllers&) = delete;
  AdmissionControllers& operator=(const AdmissionControllers&) = delete;

  const Scheduler& scheduler() const;
  // True where no head can move, no write is open and no wake-up is due. For tests and shutdown.
  bool idle() const;
  std::int64_t cycle_count() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::admission

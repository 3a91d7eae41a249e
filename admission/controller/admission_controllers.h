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

#include <functional>
#include <memory>
#include <string>

#include "admission/controller/metrics/metrics_options.h"
#include "admission/driver.h"
#include "base/clock.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/metrics.h"

namespace berth::admission {

struct AdmissionControllersOptions {
  DriverOptions driver;
  MetricsOptions metrics;
  // Which controllers run here; the state of the others is kept as well, for webhooks and metrics.
  struct Run {
    bool scheduler = true;
    bool core = true;      // Workloads, queues, cohorts, flavors, checks
    bool topology = true;  // Topologies, failing nodes
  };
  Run run;
  struct Concurrency {  // reconciles under way at once
    std::size_t workload = 32;
    std::size_t cluster_queue = 5;
    std::size_t local_queue = 5;
    std::size_t cohort = 1;
    std::size_t flavor = 1;
    std::size_t check = 1;
    std::size_t topology = 1;
  };
  Concurrency concurrency;
};

class AdmissionControllers {
 public:
  AdmissionControllers(kube::Manager& manager, const Clock& clock, kube::EventRecorder& events,
                       kube::Metrics& metrics, const AdmissionControllersOptions& options);
  ~AdmissionControllers();
  AdmissionControllers(const AdmissionControllers&) = delete;
  AdmissionControllers& operator=(const AdmissionControllers&) = delete;

  const Scheduler& scheduler() const;
  // Another controller begins or ends to manage jobs of the kind; see Scheduler::ManageOwner.
  void ManageOwner(const OwnerKind& kind, bool managed);
  // True where no head can move, no write is open and no wake-up is due. For tests and shutdown.
  bool idle() const;
  std::int64_t cycle_count() const;

  // For other parts that write commentary on Workloads: the time until a write may begin. Zero: the
  // write may begin, and it is counted (kube/runtime/write_pace.h).
  Duration TakeCommentary();
  void Annotate(const api::Workload& workload, const std::string& annotation,
                const std::string& value, std::function<void(Status)> done);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::admission

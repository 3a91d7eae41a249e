// provisioning/controller/provisioning_controllers.h — the controllers of the admission checks
// kueue.x-k8s.io/provisioning-request and berth.dev/reactive-capacity, for their Workloads and for
// the AdmissionChecks.
//
//     ProvisioningControllers provisioning(manager, clock, events, options);   // before it starts
//
// While the API server does not serve ProvisioningRequests, the controllers of the first check do
// not run.
//
// Threads: the manager's Executor. Must outlive the manager.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "checks/controller/admission_check_reconciler.h"
#include "provisioning/controller/capacity_metrics.h"
#include "provisioning/controller/meter_reconciler.h"
#include "provisioning/controller/prewarm_reconciler.h"
#include "provisioning/controller/reactive_reconciler.h"
#include "provisioning/controller/request_reconciler.h"
#include "provisioning/run_history.h"

namespace berth::provisioning {

struct ProvisioningControllersOptions {
  DecideOptions decide;
  StockKeeperOptions stock;
  std::size_t concurrency = 16;                        // Workloads with writes under way at once
  kube::Metrics* metrics = nullptr;                    // null: none
  std::function<void(const MeterNote&)> on_node_time;  // called for measured nodes; null: none
};

class ProvisioningControllers {
 public:
  // The name in --controllers; it is the folder of the rows of checks/check_kinds.h.
  static constexpr char kName[] = "provisioning";

  ProvisioningControllers(kube::Manager& manager, const Clock& clock, kube::EventRecorder& events,
                          ProvisioningControllersOptions options);

 private:
  const std::function<void(const std::string&, const api::ClassStock&)> tell_stock_;
  // Runs of Workloads that have finished while this process ran, or stand finished.
  RunHistory runs_;
  RequestReconciler requests_;
  checks::AdmissionCheckReconciler request_checks_;
  MeterReconciler meters_;
  PrewarmReconciler prewarm_;
  ReactiveReconciler reactive_;
  checks::AdmissionCheckReconciler reactive_checks_;
  std::optional<CapacityMetrics> capacity_metrics_;
};

}  // namespace berth::provisioning

// provisioning/controller/provisioning_controllers.h — the controllers of the admission check
// kueue.x-k8s.io/provisioning-request: of its Workloads, and of the AdmissionChecks.
//
//     ProvisioningControllers provisioning(manager, clock, events, options);   // before it starts
//
// While the API server does not serve ProvisioningRequests, neither controller runs.
//
// Threads: the manager's Executor. Must outlive the manager.
#pragma once

#include <cstddef>

#include "provisioning/controller/admission_check_reconciler.h"
#include "provisioning/controller/request_reconciler.h"

namespace berth::provisioning {

struct ProvisioningControllersOptions {
  DecideOptions decide;
  StockKeeperOptions stock;
  std::size_t concurrency = 16;  // Workloads with writes under way at once
};

class ProvisioningControllers {
 public:
  ProvisioningControllers(kube::Manager& manager, const Clock& clock, kube::EventRecorder& events,
                          ProvisioningControllersOptions options);

 private:
  RequestReconciler requests_;
  AdmissionCheckReconciler checks_;
};

}  // namespace berth::provisioning

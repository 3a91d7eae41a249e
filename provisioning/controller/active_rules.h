// provisioning/controller/active_rules.h — when the AdmissionChecks of provisioning are active: the
// ProvisioningRequestConfig and the ProvisioningPolicy that a check names exist.
//
// Threads: one Executor, that of the manager. The manager must outlive the rules.
#pragma once

#include "checks/controller/admission_check_reconciler.h"
#include "kube/runtime/manager.h"

namespace berth::provisioning {

// The rule for the checks of kueue.x-k8s.io/provisioning-request.
checks::ActiveRule RequestRule(kube::Manager& manager);
// The rule for the checks of berth.dev/reactive-capacity, which have no parameters.
checks::ActiveRule ReactiveRule(kube::Manager& manager);

}  // namespace berth::provisioning

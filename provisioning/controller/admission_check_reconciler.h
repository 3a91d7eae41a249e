// provisioning/controller/admission_check_reconciler.h — writes the condition Active of Berth's
// AdmissionChecks: False with BadParametersRef where a check's config or policy is missing.
//
// Threads: one Executor, that of the manager.
#pragma once

#include <string_view>

#include "api/provisioning_policy.h"
#include "api/queues.h"
#include "base/clock.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/reconciler.h"
#include "provisioning/check_settings.h"

namespace berth::provisioning {

class AdmissionCheckReconciler final : public kube::Reconciler {
 public:
  AdmissionCheckReconciler(kube::Manager& manager, const Clock& clock);

  void Watch(kube::Controller& controller);
  std::string_view name() const override { return "provisioning-admission-check"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

 private:
  kube::Manager& manager_;
  const Clock& clock_;
  kube::Informer<api::AdmissionCheck>& checks_;
  kube::Informer<api::ProvisioningRequestConfig>& configs_;
  kube::Informer<api::ProvisioningPolicy>& policies_;
};

}  // namespace berth::provisioning

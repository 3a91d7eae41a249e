// checks/controller/admission_check_reconciler.h — writes the condition Active of the
// AdmissionChecks of one controller: False with BadParametersRef where an object that the check
// names is missing.
//
// Threads: one Executor, that of the manager. Errors: of the API; the work queue retries the key.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "api/queues.h"
#include "base/clock.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/reconciler.h"

namespace berth::checks {

// Reconciles the checks of the controller for which the argument returns true.
using LookAgain = std::function<void(const std::function<bool(const api::AdmissionCheck&)>&)>;

// When the checks of a controller are active. The functions live as long as the reconciler.
struct ActiveRule {
  std::string_view controller_name;
  std::string_view reconciler_name;  // in logs and metrics
  // The problem of the check's parameters; empty: the check is active.
  std::function<std::string(const api::AdmissionCheck&)> problem_of;
  // Called once: adds handlers that call `look_again` when an object that checks name has changed.
  std::function<void(const LookAgain& look_again)> watch;
};

class AdmissionCheckReconciler final : public kube::Reconciler {
 public:
  AdmissionCheckReconciler(kube::Manager& manager, const Clock& clock, ActiveRule rule);

  void Watch(kube::Controller& controller);
  std::string_view name() const override { return rule_.reconciler_name; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

 private:
  bool IsOurs(const api::AdmissionCheck& check) const;

  kube::Manager& manager_;
  const Clock& clock_;
  const ActiveRule rule_;
  kube::Informer<api::AdmissionCheck>& checks_;
};

}  // namespace berth::checks

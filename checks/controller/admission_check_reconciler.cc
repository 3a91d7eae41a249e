#include "checks/controller/admission_check_reconciler.h"

#include <utility>

#include "checks/controller/active_condition.h"

namespace berth::checks {

AdmissionCheckReconciler::AdmissionCheckReconciler(kube::Manager& manager, const Clock& clock,
                                                   ActiveRule rule)
    : manager_(manager),
      clock_(clock),
      rule_(std::move(rule)),
      checks_(manager.InformerFor<api::AdmissionCheck>()) {}

bool AdmissionCheckReconciler::IsOurs(const api::AdmissionCheck& check) const {
  return check.controller_name == rule_.controller_name;
}

void AdmissionCheckReconciler::Watch(kube::Controller& controller) {
  const auto add = [this, &controller](const auto& check) {
    if (IsOurs(*check)) controller.Add(check->meta.key());
  };
  controller.AddSweep(kube::SweepOf(checks_));
  checks_.AddHandler(
      {.on_add = add, .on_update = [add](const auto&, const auto& check) { add(check); }});
  rule_.watch([this, add](const std::function<bool(const api::AdmissionCheck&)>& concerns) {
    for (const auto& check : checks_.objects()) {
      if (concerns(*check)) add(check);
    }
  });
}

void AdmissionCheckReconciler::Reconcile(const api::ObjectKey& key, Done done) {
  const auto check = checks_.Get(key);
  if (check == nullptr || !IsOurs(*check)) return done(kube::NextLook{});
  WriteActive(manager_, *check, rule_.problem_of(*check), clock_.Now(), std::move(done));
}

}  // namespace berth::checks

#include "provisioning/controller/admission_check_reconciler.h"

#include <utility>

#include "api/codec/provisioning_policy.h"
#include "api/labels.h"
#include "provisioning/controller/active_condition.h"

namespace berth::provisioning {
namespace {

bool IsOurs(const api::AdmissionCheck& check) {
  return check.controller_name == api::kProvisioningCheckController;
}

}  // namespace

AdmissionCheckReconciler::AdmissionCheckReconciler(kube::Manager& manager, const Clock& clock)
    : manager_(manager),
      clock_(clock),
      checks_(manager.InformerFor<api::AdmissionCheck>()),
      configs_(manager.InformerFor<api::ProvisioningRequestConfig>()),
      policies_(manager.OptionalInformerFor<api::ProvisioningPolicy>()) {}

void AdmissionCheckReconciler::Watch(kube::Controller& controller) {
  const auto add = [&controller](const auto& check) {
    if (IsOurs(*check)) controller.Add(check->meta.key());
  };
  controller.AddSweep(kube::SweepOf(checks_));
  checks_.AddHandler(
      {.on_add = add, .on_update = [add](const auto&, const auto& check) { add(check); }});
  const auto add_users = [this, &controller](const auto& config) {
    for (const auto& check : checks_.objects()) {
      const Result<std::string> name = ConfigNameOf(*check);
      if (IsOurs(*check) && name && *name == config->meta.name) controller.Add(check->meta.key());
    }
  };
  // An update may name another policy.
  configs_.AddHandler({.on_add = add_users,
                       .on_update = [add_users](const auto&, const auto& now) { add_users(now); },
                       .on_delete = add_users});
  const auto add_all = [this, &controller](const auto&) {
    for (const auto& check : checks_.objects()) {
      if (IsOurs(*check)) controller.Add(check->meta.key());
    }
  };
  policies_.AddHandler({.on_add = add_all, .on_delete = add_all});
}

void AdmissionCheckReconciler::Reconcile(const api::ObjectKey& key, Done done) {
  const auto check = checks_.Get(key);
  if (check == nullptr || !IsOurs(*check)) return done(kube::NextLook{});
  const Result<std::string> config = ConfigNameOf(*check);
  const auto found = config ? configs_.Get({"", *config}) : nullptr;
  const std::string policy = PolicyNameOf(*check, found.get());
  std::string problem;
  if (!config) {
    problem = config.error().message;
  } else if (found == nullptr) {
    problem = std::string(kConfigKind) + "." + kConfigGroup + " \"" + *config + "\" not found";
  } else if (!policy.empty() && policies_.Get({"", policy}) == nullptr) {
    problem = PolicyNotFound(policy);
  }
  WriteActive(manager_, *check, problem, clock_.Now(), std::move(done));
}

}  // namespace berth::provisioning

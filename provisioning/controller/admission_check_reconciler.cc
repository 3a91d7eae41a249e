#include "provisioning/controller/admission_check_reconciler.h"

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/codec/provisioning_policy.h"
#include "api/labels.h"
#include "api/reasons.h"

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
  api::Condition wanted{.type = api::kActive,
                        .status = api::ConditionStatus::kTrue,
                        .reason = "Active",
                        .message = "The admission check is active",
                        .last_transition_time = CutToSeconds(clock_.Now()),
                        .observed_generation = check->meta.generation};
  const Result<std::string> config = ConfigNameOf(*check);
  const auto found = config ? configs_.Get({"", *config}) : nullptr;
  const std::string policy = PolicyNameOf(*check, found.get());
  if (found == nullptr) {
    wanted.status = api::ConditionStatus::kFalse;
    wanted.reason = "BadParametersRef";
    wanted.message =
        !config ? config.error().message
                : std::string(kConfigKind) + "." + kConfigGroup + " \"" + *config + "\" not found";
  }
  if (found != nullptr && !policy.empty() && policies_.Get({"", policy}) == nullptr) {
    wanted.status = api::ConditionStatus::kFalse;
    wanted.reason = "BadParametersRef";
    wanted.message = std::string("metadata.annotations[") + api::kProvisioningPolicyAnnotation +
                     "]: ProvisioningPolicy.provisioning.berth.dev \"" + policy + "\" not found";
  }
  const api::Condition* now = api::FindCondition(check->conditions, api::kActive);
  if (now != nullptr && now->status == wanted.status && now->reason == wanted.reason &&
      now->message == wanted.message) {
    return done(kube::NextLook{});
  }
  if (now != nullptr && now->status == wanted.status) {
    wanted.last_transition_time = now->last_transition_time;
  }
  const api::ResourceKind& kind = api::KindOf<api::AdmissionCheck>();
  const kube::Json applied = {{"apiVersion", kind.api_version()},
                              {"kind", kind.kind},
                              {"metadata", {{"name", key.name}}},
                              {"status", {{"conditions", {api::Encode(wanted)}}}}};
  manager_.client().Patch(kind, key, kube::PatchType::kApply, applied,
                          {.field_manager = api::kProvisioningCheckController,
                           .force = kube::Force::kYes,
                           .subresource = "status"},
                          [this, done = std::move(done)](const Result<kube::JsonPtr>& written) {
                            if (!written) return done(written.error());
                            checks_.Ingest(**written);
                            done(kube::NextLook{});
                          });
}

}  // namespace berth::provisioning

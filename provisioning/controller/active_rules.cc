#include "provisioning/controller/active_rules.h"

#include <string>

#include "api/codec/provisioning_policy.h"
#include "api/labels.h"
#include "api/provisioning_policy.h"
#include "api/queues.h"
#include "checks/controller_names.h"
#include "provisioning/check_settings.h"

namespace berth::provisioning {
namespace {

using Configs = kube::Informer<api::ProvisioningRequestConfig>;
using Policies = kube::Informer<api::ProvisioningPolicy>;

// Empty: the check names no policy, or one that exists.
std::string PolicyProblem(const Policies& policies, const std::string& policy) {
  if (policy.empty() || policies.Get({"", policy}) != nullptr) return "";
  return std::string("metadata.annotations[") + api::kProvisioningPolicyAnnotation +
         "]: ProvisioningPolicy.provisioning.berth.dev \"" + policy + "\" not found";
}

std::string RequestProblem(const Configs& configs, const Policies& policies,
                           const api::AdmissionCheck& check) {
  const Result<std::string> config = ConfigNameOf(check);
  if (!config) return config.error().message;
  const auto found = configs.Get({"", *config});
  if (found == nullptr) {
    return std::string(kConfigKind) + "." + kConfigGroup + " \"" + *config + "\" not found";
  }
  return PolicyProblem(policies, PolicyNameOf(check, found.get()));
}

std::string ReactiveProblem(const Policies& policies, const api::AdmissionCheck& check) {
  if (check.parameters) {
    return std::string("spec.parameters: Forbidden: a check of ") +
           checks::kReactiveCheckController +
           " has none; name a ProvisioningPolicy in the annotation " +
           api::kProvisioningPolicyAnnotation;
  }
  return PolicyProblem(policies, PolicyNameOf(check, nullptr));
}

void WatchPolicies(Policies& policies, const checks::LookAgain& look_again) {
  const auto all = [look_again](const auto&) {
    look_again([](const api::AdmissionCheck&) { return true; });
  };
  policies.AddHandler({.on_add = all, .on_delete = all});
}

void WatchConfigs(Configs& configs, const checks::LookAgain& look_again) {
  const auto users = [look_again](const auto& config) {
    look_again([&config](const api::AdmissionCheck& check) {
      const Result<std::string> name = ConfigNameOf(check);
      return name && *name == config->meta.name;
    });
  };
  // An update may name another policy.
  configs.AddHandler({.on_add = users,
                      .on_update = [users](const auto&, const auto& now) { users(now); },
                      .on_delete = users});
}

}  // namespace

checks::ActiveRule RequestRule(kube::Manager& manager) {
  Configs& configs = manager.InformerFor<api::ProvisioningRequestConfig>();
  Policies& policies = manager.OptionalInformerFor<api::ProvisioningPolicy>();
  return {.controller_name = checks::kProvisioningCheckController,
          .reconciler_name = "provisioning-admission-check",
          .problem_of =
              [&configs, &policies](const api::AdmissionCheck& check) {
                return RequestProblem(configs, policies, check);
              },
          .watch =
              [&configs, &policies](const checks::LookAgain& look_again) {
                WatchConfigs(configs, look_again);
                WatchPolicies(policies, look_again);
              }};
}

checks::ActiveRule ReactiveRule(kube::Manager& manager) {
  Policies& policies = manager.OptionalInformerFor<api::ProvisioningPolicy>();
  return {
      .controller_name = checks::kReactiveCheckController,
      .reconciler_name = "reactive-admission-check",
      .problem_of =
          [&policies](const api::AdmissionCheck& check) {
            return ReactiveProblem(policies, check);
          },
      .watch = [&policies](
                   const checks::LookAgain& look_again) { WatchPolicies(policies, look_again); }};
}

}  // namespace berth::provisioning

// policy/v1 PodDisruptionBudget and v1 ResourceQuota. Source: Kubernetes 1.36 validation, restated.
#include "api/codec/json_write.h"
#include "api/quantity.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/strategies.h"
#include "local/apiserver/registry/strategies/workload_checks.h"
#include "local/apiserver/schema/selector.h"

namespace berth::local {
namespace {

class DisruptionBudgetStrategy final : public SpecStrategy {
  std::vector<Cause> ValidateSpec(const Json& budget) const override {
    std::vector<Cause> causes;
    const Json* least = At(budget, {"spec", "minAvailable"});
    const Json* most = At(budget, {"spec", "maxUnavailable"});
    if (least != nullptr && most != nullptr) {
      causes.push_back(InvalidError("spec", budget.value("spec", Json::object()),
                                    "minAvailable and maxUnavailable cannot be both set"));
    }
    for (const std::string_view field : {"minAvailable", "maxUnavailable"}) {
      const Json* value = At(budget, {"spec", field});
      if (value == nullptr || IsAmount(*value)) continue;
      causes.push_back(
          InvalidError(ChildPath("spec", field), *value,
                       "must be a number of 0 or more, or a percentage such as '25%'"));
    }
    const Json* selector = At(budget, {"spec", "selector"});
    if (selector != nullptr && !LabelSelectorFromJson(*selector)) {
      causes.push_back(InvalidError("spec.selector", *selector, "invalid label selector"));
    }
    const std::string policy = TextAt(budget, {"spec", "unhealthyPodEvictionPolicy"});
    if (!policy.empty() && policy != "AlwaysAllow" && policy != "IfHealthyBudget") {
      causes.push_back(NotSupportedError("spec.unhealthyPodEvictionPolicy", policy,
                                         {"AlwaysAllow", "IfHealthyBudget"}));
    }
    return causes;
  }
};

class ResourceQuotaStrategy final : public SpecStrategy {
  std::vector<Cause> ValidateSpec(const Json& quota) const override {
    std::vector<Cause> causes;
    const Json* hard = At(quota, {"spec", "hard"});
    if (hard == nullptr || !hard->is_object()) return causes;
    for (const auto& [name, value] : hard->items()) {
      const std::string text =
          value.is_string() ? value.get<std::string>() : api::FormatJson(value);
      const auto amount = api::ParseAmount(name, text);
      if (amount && *amount >= 0) continue;
      causes.push_back(
          InvalidError(KeyPath("spec.hard", name), text, "must be greater than or equal to 0"));
    }
    return causes;
  }

  void CheckChange(const Json& object, const Json& old_object,
                   std::vector<Cause>& causes) const override {
    for (const std::string_view field : {"scopes", "scopeSelector"}) {
      if (SameAt(object, old_object, {"spec", field})) continue;
      causes.push_back(InvalidError(ChildPath("spec", field), OrNull(At(object, {"spec", field})),
                                    "field is immutable"));
    }
  }
};

}  // namespace

std::unique_ptr<const Strategy> MakeDisruptionBudgetStrategy() {
  return std::make_unique<DisruptionBudgetStrategy>();
}
std::unique_ptr<const Strategy> MakeResourceQuotaStrategy() {
  return std::make_unique<ResourceQuotaStrategy>();
}

}  // namespace berth::local

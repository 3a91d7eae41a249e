#include "local/apiserver/registry/strategies/workload_checks.h"

#include "base/strings.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/pod_spec.h"
#include "local/apiserver/schema/selector.h"

namespace berth::local {

Json OrNull(const Json* value) { return value == nullptr ? Json() : *value; }

void CheckNotNegative(const Json& object, std::string_view field, std::vector<Cause>& causes) {
  const Json* value = At(object, {"spec", field});
  if (value == nullptr || IntAt(object, {"spec", field}, 0) >= 0) return;
  causes.push_back(
      InvalidError(ChildPath("spec", field), *value, "must be greater than or equal to 0"));
}

void CheckSelector(const Json& object, const std::string& kind, std::vector<Cause>& causes) {
  const Json* selector = At(object, {"spec", "selector"});
  if (selector == nullptr) {
    causes.push_back(RequiredError("spec.selector"));
    return;
  }
  const auto parsed = LabelSelectorFromJson(*selector);
  if (!parsed) {
    causes.push_back(InvalidError("spec.selector", *selector, "invalid label selector"));
  } else if (parsed->empty()) {
    causes.push_back(
        InvalidError("spec.selector", *selector, "empty selector is invalid for " + kind));
  } else {
    const Json labels = OrNull(At(object, {"spec", "template", "metadata", "labels"}));
    if (Matches(*parsed, labels)) return;
    causes.push_back(InvalidError("spec.template.metadata.labels", labels,
                                  "`selector` does not match template `labels`"));
  }
}

void CheckTemplate(const Json& object, std::vector<Cause>& causes) {
  const Json* pod_spec = At(object, {"spec", "template", "spec"});
  AppendCauses(causes, ValidatePodSpec(pod_spec == nullptr ? Json::object() : *pod_spec,
                                       "spec.template.spec"));
  const std::string restart = TextAt(object, {"spec", "template", "spec", "restartPolicy"});
  if (restart != "Always") {
    causes.push_back(NotSupportedError("spec.template.spec.restartPolicy", restart, {"Always"}));
  }
  if (At(object, {"spec", "template", "spec", "activeDeadlineSeconds"}) != nullptr) {
    causes.push_back(ForbiddenError("spec.template.spec.activeDeadlineSeconds",
                                    "activeDeadlineSeconds in ReplicaSet is not Supported"));
  }
}

bool IsAmount(const Json& value) {
  if (value.is_number_integer()) return value >= 0;
  if (!value.is_string()) return false;
  const std::string text = value.get<std::string>();
  if (text.empty() || text.back() != '%') return false;
  const auto number = ParseInt64(std::string_view(text).substr(0, text.size() - 1));
  return number && *number >= 0;
}

bool IsZero(const Json* value) {
  return value != nullptr && (*value == 0 || *value == "0%" || *value == "0");
}

std::vector<Cause> SpecStrategy::Validate(const ResourceInfo& resource, const Json& object) const {
  std::vector<Cause> causes = Strategy::Validate(resource, object);
  AppendCauses(causes, ValidateSpec(object));
  return causes;
}

std::vector<Cause> SpecStrategy::ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                                const Json& old_object,
                                                std::string_view subresource) const {
  std::vector<Cause> causes = Strategy::ValidateUpdate(resource, object, old_object, subresource);
  if (subresource == "status" || SameAt(object, old_object, {"spec"})) return causes;
  AppendCauses(causes, ValidateSpec(object));
  CheckChange(object, old_object, causes);
  return causes;
}

void WorkloadStrategy::CheckChange(const Json& object, const Json& old_object,
                                   std::vector<Cause>& causes) const {
  if (SameAt(object, old_object, {"spec", "selector"})) return;
  causes.push_back(InvalidError("spec.selector", OrNull(At(object, {"spec", "selector"})),
                                "field is immutable"));
}

}  // namespace berth::local

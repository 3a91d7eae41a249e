// apps/v1 Deployment and ReplicaSet. Source: Kubernetes 1.36 strategies and validation, restated.
#include "base/strings.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/pod_spec.h"
#include "local/apiserver/registry/strategies/strategies.h"
#include "local/apiserver/schema/selector.h"

namespace berth::local {
namespace {

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

// A number or a percentage.
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

void CheckStrategy(const Json& object, std::vector<Cause>& causes) {
  const std::string type = TextAt(object, {"spec", "strategy", "type"});
  const Json* rolling = At(object, {"spec", "strategy", "rollingUpdate"});
  if (type == "Recreate") {
    if (rolling == nullptr) return;
    causes.push_back(ForbiddenError("spec.strategy.rollingUpdate",
                                    "may not be specified when strategy `type` is 'Recreate'"));
    return;
  }
  if (type != "RollingUpdate") {
    causes.push_back(NotSupportedError("spec.strategy.type", type, {"Recreate", "RollingUpdate"}));
    return;
  }
  for (const std::string_view field : {"maxUnavailable", "maxSurge"}) {
    const Json* value = rolling == nullptr ? nullptr : Member(*rolling, field);
    if (value == nullptr || IsAmount(*value)) continue;
    causes.push_back(InvalidError(ChildPath("spec.strategy.rollingUpdate", field), *value,
                                  "must be a number of 0 or more, or a percentage such as '25%'"));
  }
  if (rolling != nullptr && IsZero(Member(*rolling, "maxUnavailable")) &&
      IsZero(Member(*rolling, "maxSurge"))) {
    causes.push_back(InvalidError("spec.strategy.rollingUpdate.maxUnavailable",
                                  *Member(*rolling, "maxUnavailable"),
                                  "may not be 0 when `maxSurge` is 0"));
  }
}

// The rules of both kinds.
class ReplicasStrategy : public Strategy {
 public:
  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes = Strategy::Validate(resource, object);
    AppendCauses(causes, ValidateSpec(object));
    return causes;
  }

  std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                    const Json& old_object,
                                    std::string_view subresource) const override {
    std::vector<Cause> causes = Strategy::ValidateUpdate(resource, object, old_object, subresource);
    if (subresource == "status" || SameAt(object, old_object, {"spec"})) return causes;
    AppendCauses(causes, ValidateSpec(object));
    if (!SameAt(object, old_object, {"spec", "selector"})) {
      causes.push_back(InvalidError("spec.selector", OrNull(At(object, {"spec", "selector"})),
                                    "field is immutable"));
    }
    return causes;
  }

 private:
  virtual std::vector<Cause> ValidateSpec(const Json& object) const = 0;
};

class ReplicaSetStrategy final : public ReplicasStrategy {
  std::vector<Cause> ValidateSpec(const Json& object) const override {
    std::vector<Cause> causes;
    CheckNotNegative(object, "replicas", causes);
    CheckNotNegative(object, "minReadySeconds", causes);
    CheckSelector(object, "replicaset", causes);
    CheckTemplate(object, causes);
    return causes;
  }
};

class DeploymentStrategy final : public ReplicasStrategy {
  std::vector<Cause> ValidateSpec(const Json& object) const override {
    std::vector<Cause> causes;
    for (const std::string_view field :
         {"replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"}) {
      CheckNotNegative(object, field, causes);
    }
    CheckSelector(object, "deployment", causes);
    CheckTemplate(object, causes);
    CheckStrategy(object, causes);
    const Json* deadline = At(object, {"spec", "progressDeadlineSeconds"});
    if (deadline != nullptr && IntAt(object, {"spec", "progressDeadlineSeconds"}, 0) <=
                                   IntAt(object, {"spec", "minReadySeconds"}, 0)) {
      causes.push_back(InvalidError("spec.progressDeadlineSeconds", *deadline,
                                    "must be greater than minReadySeconds"));
    }
    return causes;
  }
};

}  // namespace

std::unique_ptr<const Strategy> MakeDeploymentStrategy() {
  return std::make_unique<DeploymentStrategy>();
}
std::unique_ptr<const Strategy> MakeReplicaSetStrategy() {
  return std::make_unique<ReplicaSetStrategy>();
}

}  // namespace berth::local

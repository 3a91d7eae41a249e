// apps/v1 Deployment and ReplicaSet, v1 ReplicationController. Source: Kubernetes 1.36 strategies
// and validation, restated.
#include <algorithm>

#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/strategies.h"
#include "local/apiserver/registry/strategies/workload_checks.h"

namespace berth::local {
namespace {

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

class ReplicaSetStrategy final : public WorkloadStrategy {
  std::vector<Cause> ValidateSpec(const Json& object) const override {
    std::vector<Cause> causes;
    CheckNotNegative(object, "replicas", causes);
    CheckNotNegative(object, "minReadySeconds", causes);
    CheckSelector(object, "replicaset", causes);
    CheckTemplate(object, causes);
    return causes;
  }
};

// Its selector is a map of labels, which may change.
class ReplicationControllerStrategy final : public SpecStrategy {
  bool OrphansByDefault() const override { return true; }

  std::vector<Cause> ValidateSpec(const Json& object) const override {
    std::vector<Cause> causes;
    CheckNotNegative(object, "minReadySeconds", causes);
    const Json selector = OrNull(At(object, {"spec", "selector"}));
    if (!selector.is_object() || selector.empty()) {
      causes.push_back(RequiredError("spec.selector"));
    }
    CheckNotNegative(object, "replicas", causes);
    if (At(object, {"spec", "template"}) == nullptr) {
      causes.push_back(RequiredError("spec.template"));
      return causes;
    }
    const Json labels = OrNull(At(object, {"spec", "template", "metadata", "labels"}));
    if (selector.is_object()) {
      const bool is_selected =
          std::all_of(selector.items().begin(), selector.items().end(), [&](const auto& label) {
            const Json* value = labels.is_object() ? Member(labels, label.key()) : nullptr;
            return value != nullptr && *value == label.value();
          });
      if (!is_selected) {
        causes.push_back(InvalidError("spec.template.metadata.labels", labels,
                                      "`selector` does not match template `labels`"));
      }
    }
    CheckTemplate(object, causes);
    return causes;
  }
};

class DeploymentStrategy final : public WorkloadStrategy {
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
std::unique_ptr<const Strategy> MakeReplicationControllerStrategy() {
  return std::make_unique<ReplicationControllerStrategy>();
}
std::unique_ptr<const Strategy> MakeReplicaSetStrategy() {
  return std::make_unique<ReplicaSetStrategy>();
}

}  // namespace berth::local

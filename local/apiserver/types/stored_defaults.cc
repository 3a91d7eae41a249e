// Defaults of kinds that are stored and not acted on. Source: Kubernetes 1.36 defaults, restated.
#include "local/apiserver/types/defaults_internal.h"

namespace berth::local {
namespace {

constexpr int kScalingPeriodSeconds = 15;
constexpr int kScaleUpPods = 4;
constexpr int kScalePercent = 100;
constexpr int kDefaultUtilization = 80;

Json ScalingPolicy(const char* type, int value) {
  return {{"type", type}, {"value", value}, {"periodSeconds", kScalingPeriodSeconds}};
}

// Fills what the rules of one direction leave open.
void DefaultScalingRules(Json& behavior, const char* direction, const Json& policies) {
  Json& rules = behavior[direction];
  if (!rules.is_object()) rules = Json::object();
  SetDefault(rules, "selectPolicy", "Max");
  SetDefault(rules, "policies", policies);
}

void DefaultAutoscaler(Json& autoscaler) {
  Json* spec = Inner(autoscaler, "spec");
  if (spec == nullptr) return;
  SetDefault(*spec, "minReplicas", 1);
  Json& metrics = (*spec)["metrics"];
  if (metrics.empty()) {
    metrics = Json::array(
        {{{"type", "Resource"},
          {"resource",
           {{"name", "cpu"},
            {"target", {{"type", "Utilization"}, {"averageUtilization", kDefaultUtilization}}}}}}});
  }
  Json* behavior = Inner(*spec, "behavior");
  if (behavior == nullptr) return;
  DefaultScalingRules(
      *behavior, "scaleUp",
      Json::array({ScalingPolicy("Pods", kScaleUpPods), ScalingPolicy("Percent", kScalePercent)}));
  SetDefault((*behavior)["scaleUp"], "stabilizationWindowSeconds", 0);
  DefaultScalingRules(*behavior, "scaleDown",
                      Json::array({ScalingPolicy("Percent", kScalePercent)}));
}

void DefaultNetworkPolicy(Json& policy) {
  Json* spec = Inner(policy, "spec");
  if (spec == nullptr) return;
  for (const char* direction : {"ingress", "egress"}) {
    ForEach(*spec, direction, [](Json& rule) {
      ForEach(rule, "ports", [](Json& port) { SetDefault(port, "protocol", "TCP"); });
    });
  }
  Json& types = (*spec)["policyTypes"];
  if (!types.empty()) return;
  types = Json::array({"Ingress"});
  const auto egress = spec->find("egress");
  if (egress != spec->end() && !egress->empty()) types.push_back("Egress");
}

void DefaultCsiDriver(Json& driver) {
  Json& spec = driver["spec"];
  if (!spec.is_object()) spec = Json::object();
  SetDefault(spec, "attachRequired", true);
  for (const char* field :
       {"podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"}) {
    SetDefault(spec, field, false);
  }
  SetDefault(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
  Json& modes = spec["volumeLifecycleModes"];
  if (modes.empty()) modes = Json::array({"Persistent"});
}

}  // namespace

void DefaultStoredKind(std::string_view group, std::string_view kind, Json& object) {
  if (group == "autoscaling" && kind == "HorizontalPodAutoscaler") {
    DefaultAutoscaler(object);
  } else if (group == "networking.k8s.io" && kind == "NetworkPolicy") {
    DefaultNetworkPolicy(object);
  } else if (group == "networking.k8s.io" && kind == "IngressClass") {
    Json* spec = Inner(object, "spec");
    Json* parameters = spec == nullptr ? nullptr : Inner(*spec, "parameters");
    if (parameters != nullptr) SetDefault(*parameters, "scope", "Cluster");
  } else if (group == "storage.k8s.io" && kind == "StorageClass") {
    SetDefault(object, "reclaimPolicy", "Delete");
    SetDefault(object, "volumeBindingMode", "Immediate");
  } else if (group == "storage.k8s.io" && kind == "CSIDriver") {
    DefaultCsiDriver(object);
  }
}

}  // namespace berth::local

// Defaults of kinds that are stored and not acted on. Source: Kubernetes 1.36 defaults, restated.
#include <utility>

#include "local/apiserver/types/defaults_internal.h"

namespace berth::local {
namespace {

constexpr int kScalingPeriodSeconds = 15;
constexpr int kScaleUpPods = 4;
constexpr int kScalePercent = 100;
constexpr int kDefaultUtilization = 80;
constexpr int kConcurrencyShares = 30;
constexpr int kPrecedence = 1000;

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

void DefaultPriorityLevel(Json& level) {
  Json* spec = Inner(level, "spec");
  if (spec == nullptr) return;
  if (Json* exempt = Inner(*spec, "exempt")) {
    SetDefault(*exempt, "nominalConcurrencyShares", 0);
    SetDefault(*exempt, "lendablePercent", 0);
  }
  Json* limited = Inner(*spec, "limited");
  if (limited == nullptr) return;
  SetDefault(*limited, "nominalConcurrencyShares", kConcurrencyShares);
  SetDefault(*limited, "lendablePercent", 0);
  Json* response = Inner(*limited, "limitResponse");
  Json* queuing = response == nullptr ? nullptr : Inner(*response, "queuing");
  if (queuing == nullptr) return;
  const std::pair<const char*, int> defaults[] = {
      {"queues", 64}, {"handSize", 8}, {"queueLengthLimit", 50}};
  for (const auto& [field, value] : defaults) {
    if (queuing->value(field, Json(0)) == Json(0)) (*queuing)[field] = value;
  }
}

void DefaultFlowSchema(Json& schema) {
  Json* spec = Inner(schema, "spec");
  if (spec == nullptr) return;
  Json& precedence = (*spec)["matchingPrecedence"];
  if (precedence.is_null() || precedence == 0) precedence = kPrecedence;
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
  } else if (group == "flowcontrol.apiserver.k8s.io" && kind == "FlowSchema") {
    DefaultFlowSchema(object);
  } else if (group == "flowcontrol.apiserver.k8s.io" && kind == "PriorityLevelConfiguration") {
    DefaultPriorityLevel(object);
  }
}

}  // namespace berth::local

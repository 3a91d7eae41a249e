#include "integrations/kind_hooks.h"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "integrations/hooks/hooks.h"
#include "integrations/hooks/json_parts.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

api::StringMap Further(const api::StringMap& wanted, const api::StringMap& original) {
  api::StringMap further;
  for (const auto& [key, value] : wanted) {
    const auto found = original.find(key);
    if (found == original.end() || found->second != value) further.emplace(key, value);
  }
  return further;
}

}  // namespace

const KindHook* FindKindHook(std::string_view name) {
  if (name == "appWrapper") return &AppWrapperHook();
  if (name == "sparkApplication") return &SparkApplicationHook();
  if (name == "trainJob") return &TrainJobHook();
  return nullptr;
}

TemplateHook FindTemplateHook(std::string_view name) {
  static constexpr std::array kHooks{
      std::pair<std::string_view, TemplateHook>{"rayClusterHead", RayClusterHead},
      std::pair<std::string_view, TemplateHook>{"rayJobHead", RayJobHead},
      std::pair<std::string_view, TemplateHook>{"rayJobSubmitter", RayJobSubmitter},
      std::pair<std::string_view, TemplateHook>{"rayServiceHead", RayServiceHead}};
  const auto found = std::find_if(kHooks.begin(), kHooks.end(),
                                  [name](const auto& each) { return each.first == name; });
  return found == kHooks.end() ? nullptr : found->second;
}

PodSetChange AdditionsOf(const HookedPodSet& pods) {
  const PodSetChange& wanted = pods.wanted;
  const PodSetChange& original = pods.original;
  PodSetChange additions;
  additions.name = wanted.name;
  additions.count = wanted.count;
  additions.labels = Further(wanted.labels, original.labels);
  additions.annotations = Further(wanted.annotations, original.annotations);
  additions.node_selector = Further(wanted.node_selector, original.node_selector);
  for (const api::Toleration& each : wanted.tolerations) {
    const auto& known = original.tolerations;
    if (std::find(known.begin(), known.end(), each) == known.end()) {
      additions.tolerations.push_back(each);
    }
  }
  for (const std::string& gate : wanted.scheduling_gates) {
    const auto& known = original.scheduling_gates;
    if (std::find(known.begin(), known.end(), gate) == known.end()) {
      additions.scheduling_gates.push_back(gate);
    }
  }
  return additions;
}

nlohmann::json FieldsOf(const PodSetChange& change) {
  Json fields = Json::object();
  SetOrErase(fields, "labels", change.labels);
  SetOrErase(fields, "annotations", change.annotations);
  SetOrErase(fields, "nodeSelector", change.node_selector);
  Json tolerations = Json::array();
  for (const api::Toleration& each : change.tolerations) tolerations.push_back(api::Encode(each));
  SetOrErase(fields, "tolerations", std::move(tolerations));
  Json gates = Json::array();
  for (const std::string& gate : change.scheduling_gates) gates.push_back({{"name", gate}});
  SetOrErase(fields, "schedulingGates", std::move(gates));
  return fields;
}

}  // namespace berth::integrations

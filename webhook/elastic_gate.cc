#include "webhook/elastic_gate.h"

#include <nlohmann/json.hpp>

#include "api/labels.h"

namespace berth::webhook {

using Json = nlohmann::json;

bool HasElasticGate(const Json& pod_template) {
  if (!pod_template.is_object()) return false;
  const auto spec = pod_template.find("spec");
  if (spec == pod_template.end() || !spec->is_object()) return false;
  const auto gates = spec->find("schedulingGates");
  if (gates == spec->end() || !gates->is_array()) return false;
  for (const Json& gate : *gates) {
    if (gate.is_object() && gate.value("name", Json()) == api::kElasticJobGate) return true;
  }
  return false;
}

void AddElasticGate(Json& pod_template) {
  if (!pod_template.is_object() || HasElasticGate(pod_template)) return;
  const auto spec = pod_template.find("spec");
  if (spec == pod_template.end() || !spec->is_object()) return;
  Json& gates = (*spec)["schedulingGates"];
  if (gates.is_null()) gates = Json::array();
  if (gates.is_array()) gates.push_back({{"name", api::kElasticJobGate}});
}

}  // namespace berth::webhook

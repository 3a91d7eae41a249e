// webhook/elastic_gate.h — the scheduling gate of elastic jobs in pod templates.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace berth::webhook {

// Adds the gate kueue.x-k8s.io/elastic-job to a PodTemplateSpec that lacks it. A template whose
// fields have other types is left to the API server's validation.
void AddElasticGate(nlohmann::json& pod_template);
bool HasElasticGate(const nlohmann::json& pod_template);

}  // namespace berth::webhook

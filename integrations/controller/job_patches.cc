#include "integrations/controller/job_patches.h"

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/labels.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

// The merge patch of a map from `now` to `wanted`.
Json MapPatch(const api::StringMap& now, const api::StringMap& wanted) {
  Json patch = Json::object();
  for (const auto& [key, value] : now) {
    if (wanted.count(key) == 0) patch[key] = nullptr;
  }
  for (const auto& [key, value] : wanted) {
    const std::string* have = api::FindValue(now, key);
    if (have == nullptr || *have != value) patch[key] = value;
  }
  return patch;
}

void SetUnlessEmpty(Json& object, const char* key, Json patch) {
  if (!patch.empty()) object[key] = std::move(patch);
}

Json TemplatePatch(const api::PodTemplate& now, const PodSetChange& wanted) {
  Json metadata = Json::object();
  SetUnlessEmpty(metadata, "labels", MapPatch(now.labels, wanted.labels));
  SetUnlessEmpty(metadata, "annotations", MapPatch(now.annotations, wanted.annotations));
  Json spec = Json::object();
  SetUnlessEmpty(spec, "nodeSelector", MapPatch(now.spec.node_selector, wanted.node_selector));
  if (now.spec.tolerations != wanted.tolerations) {
    Json tolerations = Json::array();
    for (const api::Toleration& each : wanted.tolerations) {
      tolerations.push_back(api::Encode(each));
    }
    spec["tolerations"] = std::move(tolerations);
  }
  if (now.spec.scheduling_gates != wanted.scheduling_gates) {
    Json gates = Json::array();
    for (const std::string& gate : wanted.scheduling_gates) gates.push_back({{"name", gate}});
    spec["schedulingGates"] = std::move(gates);
  }
  Json patch = Json::object();
  SetUnlessEmpty(patch, "metadata", std::move(metadata));
  SetUnlessEmpty(patch, "spec", std::move(spec));
  return patch;
}

}  // namespace

Json PodPatch(const api::ObjectMeta& pod, const api::PodSpec& spec, const PodSetChange& wanted) {
  api::PodTemplate now;
  now.labels = pod.labels;
  now.annotations = pod.annotations;
  now.spec.node_selector = spec.node_selector;
  now.spec.tolerations = spec.tolerations;
  now.spec.scheduling_gates = spec.scheduling_gates;
  Json patch = TemplatePatch(now, wanted);
  patch["metadata"]["uid"] = pod.uid;
  patch["metadata"]["resourceVersion"] = pod.resource_version;
  return patch;
}

Json JobPatch(const api::Job& job, const BatchJobWrite& write) {
  Json patch = Json::object();
  if (write.clear_start_time) {
    patch["status"] = {{"startTime", nullptr}};
    return patch;
  }
  if (write.stopping != BatchJobWrite::Stopping::kLeave) {
    const bool set = write.stopping == BatchJobWrite::Stopping::kSet;
    patch["metadata"]["annotations"] = {
        {api::kStoppingAnnotation, set ? Json("true") : Json(nullptr)}};
  }
  Json spec = Json::object();
  if (write.suspend) spec["suspend"] = *write.suspend;
  if (write.parallelism) spec["parallelism"] = *write.parallelism;
  if (write.completions) spec["completions"] = *write.completions;
  if (write.pod_template) {
    SetUnlessEmpty(spec, "template", TemplatePatch(job.pod_template, *write.pod_template));
  }
  SetUnlessEmpty(patch, "spec", std::move(spec));
  return patch;
}

Json WorkloadSpecPatch(const api::Workload& workload, const api::WorkloadSpec& spec) {
  api::Workload changed;
  changed.spec = spec;
  Json wanted = api::Encode(changed)["spec"];
  for (const char* optional : {"queueName", "priorityClassRef", "maximumExecutionTimeSeconds"}) {
    if (!wanted.contains(optional)) wanted[optional] = nullptr;
  }
  return {{"metadata", {{"resourceVersion", workload.meta.resource_version}}},
          {"spec", std::move(wanted)}};
}

Json AppliedWorkload(const api::ObjectKey& key) {
  const api::ResourceKind& kind = api::KindOf<api::Workload>();
  return {{"apiVersion", kind.api_version()},
          {"kind", kind.kind},
          {"metadata", {{"name", key.name}, {"namespace", key.namespace_name}}}};
}

}  // namespace berth::integrations

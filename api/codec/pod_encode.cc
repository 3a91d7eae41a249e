#include "api/codec/codec.h"
#include "api/codec/json_tree.h"
#include "api/codec/parts.h"

namespace berth::api {
namespace {

Json EncodeTolerations(const std::vector<Toleration>& tolerations) {
  Json json = Json::array();
  for (const Toleration& toleration : tolerations) json.push_back(Encode(toleration));
  return json;
}

Json EncodeGates(const std::vector<std::string>& gates) {
  Json json = Json::array();
  for (const std::string& gate : gates) json.push_back({{"name", gate}});
  return json;
}

// Sets object[key] to `value`, or removes it where `value` is empty.
void Replace(Json& object, const char* key, Json value) {
  if (value.empty()) {
    object.erase(key);
  } else {
    object[key] = std::move(value);
  }
}

// `containers` are written to `spec[key]`, which was decoded into `old`.
void ReplaceContainers(Json& spec, const char* key, const std::vector<Container>& containers,
                       const std::vector<Container>& old) {
  if (containers.empty()) {
    spec.erase(key);
    return;
  }
  Json& list = spec[key];
  if (!list.is_array() || containers.size() != old.size()) list = Json::array();
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Container& container = containers[i];
    if (i >= list.size()) list.push_back(Json::object());
    const Container before = i < old.size() ? old[i] : Container{};
    Json& json = list[i];
    if (container.name != before.name) json["name"] = container.name;
    if (container.image != before.image) json["image"] = container.image;
    if (container.restart_policy != before.restart_policy) {
      json["restartPolicy"] = container.restart_policy;
    }
    if (container.requests != before.requests) {
      json["resources"]["requests"] = QuantityMap(container.requests);
    }
    if (container.limits != before.limits) {
      json["resources"]["limits"] = QuantityMap(container.limits);
    }
  }
}

void ReplaceSpec(Json& json, const PodSpec& spec, const PodSpec& old) {
  if (spec.containers != old.containers) {
    ReplaceContainers(json, "containers", spec.containers, old.containers);
  }
  if (spec.init_containers != old.init_containers) {
    ReplaceContainers(json, "initContainers", spec.init_containers, old.init_containers);
  }
  if (spec.node_selector != old.node_selector) Replace(json, "nodeSelector", spec.node_selector);
  if (spec.tolerations != old.tolerations) {
    Replace(json, "tolerations", EncodeTolerations(spec.tolerations));
  }
  if (spec.scheduling_gates != old.scheduling_gates) {
    Replace(json, "schedulingGates", EncodeGates(spec.scheduling_gates));
  }
  if (spec.priority_class_name != old.priority_class_name) {
    Replace(json, "priorityClassName",
            spec.priority_class_name.empty() ? Json() : Json(spec.priority_class_name));
  }
  if (spec.restart_policy != old.restart_policy) {
    Replace(json, "restartPolicy",
            spec.restart_policy.empty() ? Json() : Json(spec.restart_policy));
  }
}

}  // namespace

Json QuantityMap(const ResourceAmounts& amounts) {
  Json json = Json::object();
  for (const auto& [resource, amount] : amounts) json[resource] = FormatAmount(resource, amount);
  return json;
}

Json Encode(const Toleration& toleration) {
  Json json = Json::object();
  SetUnlessEmpty(json, "key", toleration.key);
  SetUnlessEmpty(json, "operator", toleration.op);
  SetUnlessEmpty(json, "value", toleration.value);
  SetUnlessEmpty(json, "effect", toleration.effect);
  if (toleration.toleration_seconds) json["tolerationSeconds"] = *toleration.toleration_seconds;
  return json;
}

Json Encode(const PodTemplate& pod_template) {
  Json json = Json::object();
  PodTemplate old;
  if (pod_template.json != nullptr) {
    Result<Json> tree = ParseJson(*pod_template.json);
    Result<PodTemplate> decoded =
        tree ? Decode<PodTemplate>(*tree) : Result<PodTemplate>(tree.error());
    if (decoded) {
      json = *std::move(tree);
      // Kubernetes before 1.34 writes `creationTimestamp: null`. A null of a merge patch would
      // remove the member of the stored object.
      DropNulls(json);
      old = *std::move(decoded);
    }
  }
  if (pod_template.labels != old.labels) Replace(json["metadata"], "labels", pod_template.labels);
  if (pod_template.annotations != old.annotations) {
    Replace(json["metadata"], "annotations", pod_template.annotations);
  }
  if (!json.contains("spec") || !json["spec"].is_object()) json["spec"] = Json::object();
  ReplaceSpec(json["spec"], pod_template.spec, old.spec);
  return json;
}

Json Encode(const PodTemplateObject& pod_template) {
  const ResourceKind& kind = KindOf<PodTemplateObject>();
  return {{"apiVersion", kind.api_version()},
          {"kind", kind.kind},
          {"metadata", Encode(pod_template.meta)},
          {"template", Encode(pod_template.pod_template)}};
}

}  // namespace berth::api

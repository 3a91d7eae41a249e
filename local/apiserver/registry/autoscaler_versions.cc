#include "local/apiserver/registry/autoscaler_versions.h"

#include <string_view>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

constexpr const char* kMetrics = "autoscaling.alpha.kubernetes.io/metrics";
constexpr const char* kCurrentMetrics = "autoscaling.alpha.kubernetes.io/current-metrics";
constexpr const char* kConditions = "autoscaling.alpha.kubernetes.io/conditions";
constexpr const char* kBehavior = "autoscaling.alpha.kubernetes.io/behavior";
constexpr const char* kCpuShare = "targetCPUUtilizationPercentage";
constexpr const char* kCurrentCpuShare = "currentCPUUtilizationPercentage";
constexpr int kDefaultCpuShare = 80;
constexpr std::size_t kMaxAnnotationDepth = 32;

// A metric's amounts stand under "target" in the spec and under "current" in the status.
constexpr std::string_view kAmounts = "AMOUNTS";

// One field of a metric: its name in v1, and its parent and name in v2. A name in v1 that begins
// with "-" gets the prefix "target" or "current".
struct MetricField {
  std::string_view metric;
  std::string_view v1;
  std::string_view parent;  // empty: the metric itself
  std::string_view v2;
};
constexpr MetricField kFields[] = {
    {"resource", "name", "", "name"},
    {"resource", "-AverageUtilization", kAmounts, "averageUtilization"},
    {"resource", "-AverageValue", kAmounts, "averageValue"},
    {"containerResource", "name", "", "name"},
    {"containerResource", "container", "", "container"},
    {"containerResource", "-AverageUtilization", kAmounts, "averageUtilization"},
    {"containerResource", "-AverageValue", kAmounts, "averageValue"},
    {"pods", "metricName", "metric", "name"},
    {"pods", "selector", "metric", "selector"},
    {"pods", "-AverageValue", kAmounts, "averageValue"},
    {"object", "target", "", "describedObject"},
    {"object", "metricName", "metric", "name"},
    {"object", "selector", "metric", "selector"},
    {"object", "-Value", kAmounts, "value"},
    {"object", "averageValue", kAmounts, "averageValue"},
    {"external", "metricName", "metric", "name"},
    {"external", "metricSelector", "metric", "selector"},
    {"external", "-Value", kAmounts, "value"},
    {"external", "-AverageValue", kAmounts, "averageValue"},
};

std::string OldName(const MetricField& field, const std::string& amounts) {
  if (!field.v1.starts_with('-')) return std::string(field.v1);
  return amounts + std::string(field.v1.substr(1));
}

Json OldMetric(const Json& metric, const std::string& amounts) {
  Json old{{"type", TextAt(metric, {"type"})}};
  for (const MetricField& field : kFields) {
    const std::string_view parent = field.parent == kAmounts ? amounts : field.parent;
    const Json* value = parent.empty() ? At(metric, {field.metric, field.v2})
                                       : At(metric, {field.metric, parent, field.v2});
    if (value != nullptr) old[std::string(field.metric)][OldName(field, amounts)] = *value;
  }
  return old;
}

Json NewMetric(const Json& old, const std::string& amounts) {
  Json metric{{"type", TextAt(old, {"type"})}};
  for (const MetricField& field : kFields) {
    const Json* value = At(old, {field.metric, OldName(field, amounts)});
    if (value == nullptr) continue;
    Json& place = metric[std::string(field.metric)];
    const std::string parent = field.parent == kAmounts ? amounts : std::string(field.parent);
    (parent.empty() ? place : place[parent])[std::string(field.v2)] = *value;
    if (parent != "target") continue;
    place[parent]["type"] = field.v2 == "averageUtilization" ? "Utilization"
                            : field.v2 == "value"            ? "Value"
                                                             : "AverageValue";
  }
  return metric;
}

// The share of cpu that `metric` names under `amounts`; null: the metric is another one.
const Json* CpuShare(const Json& metric, std::string_view amounts) {
  if (TextAt(metric, {"type"}) != "Resource" || TextAt(metric, {"resource", "name"}) != "cpu") {
    return nullptr;
  }
  return At(metric, {"resource", amounts, "averageUtilization"});
}

void SetAnnotation(Json& object, const char* name, const Json& value) {
  if (value.empty()) return;
  object["metadata"]["annotations"][name] = api::FormatJson(value);
}

// Removes the annotation; null where it is absent.
Json TakeAnnotation(Json& object, const char* name) {
  const std::string text = TextAt(object, {"metadata", "annotations", name});
  if (text.empty()) return {};
  Json& annotations = object["metadata"]["annotations"];
  annotations.erase(name);
  if (annotations.empty()) object["metadata"].erase("annotations");
  return api::ParseJsonOrNull(text, {.max_depth = kMaxAnnotationDepth});
}

void ToOld(Json& object) {
  Json others = Json::array();
  for (const Json& metric : ArrayAt(object, {"spec", "metrics"})) {
    if (const Json* share = CpuShare(metric, "target")) {
      object["spec"][kCpuShare] = *share;
    } else {
      others.push_back(OldMetric(metric, "target"));
    }
  }
  Json current = Json::array();
  for (const Json& metric : ArrayAt(object, {"status", "currentMetrics"})) {
    if (const Json* share = CpuShare(metric, "current")) {
      object["status"][kCurrentCpuShare] = *share;
    }
    current.push_back(OldMetric(metric, "current"));
  }
  SetAnnotation(object, kMetrics, others);
  SetAnnotation(object, kCurrentMetrics, current);
  SetAnnotation(object, kConditions, ArrayAt(object, {"status", "conditions"}));
  if (const Json* behavior = At(object, {"spec", "behavior"})) {
    SetAnnotation(object, kBehavior, *behavior);
  }
  for (const char* field : {"metrics", "behavior"}) object["spec"].erase(field);
  if (!object.contains("status")) return;
  for (const char* field : {"currentMetrics", "conditions"}) object["status"].erase(field);
}

Json CpuMetric(const char* amounts, const Json& share) {
  Json amount{{"averageUtilization", share}};
  if (std::string_view(amounts) == "target") amount["type"] = "Utilization";
  return {{"type", "Resource"}, {"resource", {{"name", "cpu"}, {amounts, std::move(amount)}}}};
}

void ToNew(Json& object) {
  Json metrics = Json::array();
  const Json others = TakeAnnotation(object, kMetrics);
  for (const Json& old : others.is_array() ? others : Json::array()) {
    metrics.push_back(NewMetric(old, "target"));
  }
  if (const Json* share = At(object, {"spec", kCpuShare})) {
    metrics.push_back(CpuMetric("target", *share));
  }
  if (metrics.empty()) metrics.push_back(CpuMetric("target", kDefaultCpuShare));
  object["spec"].erase(kCpuShare);
  object["spec"]["metrics"] = std::move(metrics);
  Json behavior = TakeAnnotation(object, kBehavior);
  if (behavior.is_object()) object["spec"]["behavior"] = std::move(behavior);
  const Json* share = At(object, {"status", kCurrentCpuShare});
  Json current = share == nullptr ? Json::array() : Json::array({CpuMetric("current", *share)});
  if (const Json old = TakeAnnotation(object, kCurrentMetrics); old.is_array()) {
    current = Json::array();
    for (const Json& metric : old) current.push_back(NewMetric(metric, "current"));
  }
  if (object.contains("status")) object["status"].erase(kCurrentCpuShare);
  if (!current.empty()) object["status"]["currentMetrics"] = std::move(current);
  Json conditions = TakeAnnotation(object, kConditions);
  if (conditions.is_array()) object["status"]["conditions"] = std::move(conditions);
}

}  // namespace

void ConvertAutoscaler(Json& autoscaler, const std::string& api_version) {
  if (TextAt(autoscaler, {"apiVersion"}) == api_version) return;
  if (api_version == kAutoscalerStoredVersion) {
    ToNew(autoscaler);
  } else {
    ToOld(autoscaler);
  }
  autoscaler["apiVersion"] = api_version;
}

}  // namespace berth::local

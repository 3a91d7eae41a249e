// autoscaling/v2 HorizontalPodAutoscaler. Source: Kubernetes 1.36 validation, restated.
#include <algorithm>
#include <array>

#include "api/codec/json_write.h"
#include "api/quantity.h"
#include "base/strings.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/stored_checks.h"
#include "local/apiserver/registry/strategies/strategies.h"
#include "local/apiserver/schema/name_rules.h"

namespace berth::local {
namespace {

constexpr std::int64_t kMaxPeriodSeconds = 1800;
constexpr std::int64_t kMaxStabilizationSeconds = 3600;

// A type of metric and its field.
struct MetricType {
  std::string_view type;
  std::string_view field;
};
constexpr std::array<MetricType, 5> kMetricTypes = {{{"Object", "object"},
                                                     {"External", "external"},
                                                     {"Pods", "pods"},
                                                     {"Resource", "resource"},
                                                     {"ContainerResource", "containerResource"}}};

// Whether a group must be named differs between the target and the objects of metrics.
enum class CoreGroup : std::uint8_t { kRefused, kAllowed };

void CheckScaledObject(const Json& reference, const std::string& path, CoreGroup core,
                       std::vector<Cause>& causes) {
  CheckKindAndName(reference, path, causes);
  const std::string version = TextAt(reference, {"apiVersion"});
  const auto slashes = std::count(version.begin(), version.end(), '/');
  if (slashes > 1) {
    causes.push_back(
        InvalidError(path + ".apiVersion", version, "unexpected GroupVersion string: " + version));
  } else if (slashes == 0 && core == CoreGroup::kRefused) {
    causes.push_back(
        InvalidError(path + ".apiVersion", version, "apiVersion must specify API group"));
  }
}

void CheckPositive(const Json& target, std::string_view field, const std::string& path,
                   std::vector<Cause>& causes) {
  const Json* value = Member(target, field);
  if (value == nullptr) return;
  const auto amount = api::ParseAmount(
      "cpu", value->is_string() ? value->get<std::string>() : api::FormatJson(*value));
  if (amount && *amount > 0) return;
  causes.push_back(InvalidError(ChildPath(path, field), *value, "must be positive"));
}

void CheckTarget(const Json& source, const std::string& path, std::vector<Cause>& causes) {
  const Json target = source.value("target", Json::object());
  const std::string at = path + ".target";
  const std::string type = TextAt(target, {"type"});
  if (type.empty()) {
    causes.push_back(RequiredError(at + ".type", "must specify a metric target type"));
  }
  if (type != "Utilization" && type != "Value" && type != "AverageValue") {
    causes.push_back(
        InvalidError(at + ".type", type, "must be either Utilization, Value, or AverageValue"));
  }
  CheckPositive(target, "value", at, causes);
  CheckPositive(target, "averageValue", at, causes);
  if (const Json* share = Member(target, "averageUtilization"); share != nullptr && *share < 1) {
    causes.push_back(InvalidError(at + ".averageUtilization", *share, "must be greater than 0"));
  }
}

void CheckMetricName(const Json& source, const std::string& path, std::vector<Cause>& causes) {
  const std::string name = TextAt(source, {"metric", "name"});
  if (name.empty()) {
    causes.push_back(RequiredError(path + ".metric.name", "must specify a metric name"));
  } else {
    AppendInvalid(path + ".metric.name", name, PathSegmentNameErrors(name), causes);
  }
}

void CheckObjectOrExternal(const Json& source, const std::string& path, bool is_object,
                           std::vector<Cause>& causes) {
  const bool has_value = At(source, {"target", "value"}) != nullptr;
  const bool has_average = At(source, {"target", "averageValue"}) != nullptr;
  if (!has_value && !has_average) {
    causes.push_back(
        RequiredError(path + ".target.averageValue",
                      is_object ? "must set either a target value or averageValue"
                                : "must set either a target value for metric or a per-pod target"));
  }
  if (!is_object && has_value && has_average) {
    causes.push_back(ForbiddenError(
        path + ".target.value", "may not set both a target value for metric and a per-pod target"));
  }
}

void CheckResource(const Json& source, const std::string& path, std::vector<Cause>& causes) {
  const bool has_share = At(source, {"target", "averageUtilization"}) != nullptr;
  const bool has_average = At(source, {"target", "averageValue"}) != nullptr;
  if (!has_share && !has_average) {
    causes.push_back(RequiredError(path + ".target.averageUtilization",
                                   "must set either a target raw value or a target utilization"));
  }
  if (has_share && has_average) {
    causes.push_back(ForbiddenError(path + ".target.averageValue",
                                    "may not set both a target raw value and a target "
                                    "utilization"));
  }
}

void CheckSource(std::string_view field, const Json& source, const std::string& path,
                 std::vector<Cause>& causes) {
  if (field == "resource" || field == "containerResource") {
    if (TextAt(source, {"name"}).empty()) {
      causes.push_back(RequiredError(path + ".name", "must specify a resource name"));
    }
    const std::string container = TextAt(source, {"container"});
    if (field == "containerResource" && container.empty()) {
      causes.push_back(RequiredError(path + ".container", "must specify a container"));
    } else if (field == "containerResource") {
      AppendInvalid(path + ".container", container, Dns1123LabelErrors(container), causes);
    }
    CheckTarget(source, path, causes);
    CheckResource(source, path, causes);
    return;
  }
  if (field == "object") {
    CheckScaledObject(source.value("describedObject", Json::object()), path + ".describedObject",
                      CoreGroup::kAllowed, causes);
  }
  CheckMetricName(source, path, causes);
  CheckTarget(source, path, causes);
  if (field != "pods") {
    CheckObjectOrExternal(source, path, field == "object", causes);
  } else if (At(source, {"target", "averageValue"}) == nullptr) {
    causes.push_back(RequiredError(path + ".target.averageValue",
                                   "must specify a positive target averageValue"));
  }
}

void CheckMetric(const Json& metric, const std::string& path, std::vector<Cause>& causes) {
  const std::string type = TextAt(metric, {"type"});
  const auto known = std::find_if(kMetricTypes.begin(), kMetricTypes.end(),
                                  [&](const MetricType& one) { return one.type == type; });
  const Cause unknown = NotSupportedError(
      path + ".type", type, {"ContainerResource", "External", "Object", "Pods", "Resource"});
  if (type.empty()) {
    causes.push_back(RequiredError(path + ".type", "must specify a metric source type"));
  }
  if (known == kMetricTypes.end()) causes.push_back(unknown);
  std::vector<std::string_view> given;
  for (const MetricType& one : kMetricTypes) {
    const Json* source = Member(metric, one.field);
    if (source == nullptr) continue;
    given.push_back(one.field);
    if (given.size() == 1) CheckSource(one.field, *source, ChildPath(path, one.field), causes);
  }
  if (known != kMetricTypes.end() && Member(metric, known->field) == nullptr) {
    causes.push_back(RequiredError(ChildPath(path, known->field),
                                   "must populate information for the given metric source"));
  }
  if (given.size() == 1) return;
  for (const std::string_view field : given) {
    if (known != kMetricTypes.end() && field == known->field) continue;
    causes.push_back(
        ForbiddenError(ChildPath(path, field), "must populate the given metric source only"));
  }
}

void CheckScalingPolicy(const Json& policy, const std::string& path, std::vector<Cause>& causes) {
  const std::string type = TextAt(policy, {"type"});
  if (type != "Pods" && type != "Percent") {
    causes.push_back(NotSupportedError(path + ".type", type, {"Percent", "Pods"}));
  }
  for (const std::string_view field : {"value", "periodSeconds"}) {
    const std::int64_t number = IntAt(policy, {field}, 0);
    if (number > 0) continue;
    causes.push_back(InvalidError(ChildPath(path, field), number, "must be greater than zero"));
  }
  const std::int64_t period = IntAt(policy, {"periodSeconds"}, 0);
  if (period > kMaxPeriodSeconds) {
    causes.push_back(
        InvalidError(path + ".periodSeconds", period, "must be less than or equal to 1800"));
  }
}

void CheckScalingRules(const Json* rules, const std::string& path, std::vector<Cause>& causes) {
  if (rules == nullptr) return;
  const std::int64_t window = IntAt(*rules, {"stabilizationWindowSeconds"}, 0);
  if (window < 0) {
    causes.push_back(InvalidError(path + ".stabilizationWindowSeconds", window,
                                  "must be greater than or equal to zero"));
  }
  if (window > kMaxStabilizationSeconds) {
    causes.push_back(InvalidError(path + ".stabilizationWindowSeconds", window,
                                  "must be less than or equal to 3600"));
  }
  const std::string select = TextAt(*rules, {"selectPolicy"});
  if (!select.empty() && select != "Max" && select != "Min" && select != "Disabled") {
    causes.push_back(NotSupportedError(path + ".selectPolicy", select, {"Disabled", "Max", "Min"}));
  }
  const Json& policies = ArrayAt(*rules, {"policies"});
  if (policies.empty()) {
    causes.push_back(RequiredError(path + ".policies", "must specify at least one Policy"));
  }
  for (std::size_t i = 0; i < policies.size(); ++i) {
    CheckScalingPolicy(policies[i], IndexPath(path + ".policies", i), causes);
  }
}

std::vector<Cause> CheckAutoscaler(const Json& autoscaler) {
  std::vector<Cause> causes;
  const std::int64_t least = IntAt(autoscaler, {"spec", "minReplicas"}, 1);
  const std::int64_t most = IntAt(autoscaler, {"spec", "maxReplicas"}, 0);
  if (least < 1) {
    causes.push_back(InvalidError("spec.minReplicas", least, "must be greater than or equal to 1"));
  }
  if (most == 0) {
    causes.push_back(RequiredError("spec.maxReplicas", "must be set and greater than 0"));
  } else if (most < 0) {
    causes.push_back(InvalidError("spec.maxReplicas", most, "must be greater than or equal to 1"));
  }
  if (most < least) {
    causes.push_back(
        InvalidError("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"));
  }
  const Json* target = At(autoscaler, {"spec", "scaleTargetRef"});
  CheckScaledObject(target == nullptr ? Json::object() : *target, "spec.scaleTargetRef",
                    CoreGroup::kRefused, causes);
  const Json& metrics = ArrayAt(autoscaler, {"spec", "metrics"});
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    CheckMetric(metrics[i], IndexPath("spec.metrics", i), causes);
  }
  CheckScalingRules(At(autoscaler, {"spec", "behavior", "scaleUp"}), "spec.behavior.scaleUp",
                    causes);
  CheckScalingRules(At(autoscaler, {"spec", "behavior", "scaleDown"}), "spec.behavior.scaleDown",
                    causes);
  return causes;
}

}  // namespace

std::unique_ptr<const Strategy> MakeAutoscalerStrategy() {
  return std::make_unique<StoredStrategy>(StoredRules{CheckAutoscaler});
}

}  // namespace berth::local

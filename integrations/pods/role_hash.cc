#include "integrations/pods/role_hash.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "base/sha256.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;
using FieldOrder = std::span<const std::string_view>;

constexpr std::size_t kRoleHashLength = 8;

// The order in which Kubernetes writes the fields of its structs. One order serves all structs but
// topologySpreadConstraints; maps (matchLabels and the like) are in the order of their keys.
constexpr std::array<std::string_view, 29> kFieldOrder{
    "name",
    "hostPort",
    "containerPort",
    "protocol",
    "hostIP",
    "resourceClaimName",
    "resourceClaimTemplateName",
    "nodeAffinity",
    "podAffinity",
    "podAntiAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
    "weight",
    "preference",
    "podAffinityTerm",
    "labelSelector",
    "namespaces",
    "topologyKey",
    "namespaceSelector",
    "matchLabelKeys",
    "mismatchLabelKeys",
    "matchLabels",
    "matchExpressions",
    "matchFields",
    "key",
    "operator",
    "value",
    "values"};
constexpr std::array<std::string_view, 13> kSpreadOrder{"maxSkew",
                                                        "topologyKey",
                                                        "whenUnsatisfiable",
                                                        "labelSelector",
                                                        "minDomains",
                                                        "nodeAffinityPolicy",
                                                        "nodeTaintsPolicy",
                                                        "matchLabelKeys",
                                                        "matchLabels",
                                                        "matchExpressions",
                                                        "key",
                                                        "operator",
                                                        "values"};
constexpr std::array<std::string_view, 5> kTolerationOrder{"key", "operator", "value", "effect",
                                                           "tolerationSeconds"};

bool IsMap(std::string_view field) { return field == "matchLabels"; }

// The text of `value`, its structs in `order`. The depth is that of the API's types: affinity is
// the deepest, with 8 levels; deeper values are written with sorted keys.
void WriteOrdered(const Json& value, FieldOrder order, int depth, std::string& out) {
  constexpr int kMaxDepth = 12;
  if (depth == kMaxDepth || (!value.is_object() && !value.is_array())) {
    out += api::FormatJson(value);
    return;
  }
  if (value.is_array()) {
    out += '[';
    for (const Json& item : value) {
      if (out.back() != '[') out += ',';
      WriteOrdered(item, order, depth + 1, out);
    }
    out += ']';
    return;
  }
  std::vector<std::pair<std::size_t, const Json*>> fields;
  std::vector<const std::string*> names;
  for (const auto& [name, field] : value.items()) {
    const auto place = std::find(order.begin(), order.end(), name);
    fields.emplace_back(static_cast<std::size_t>(place - order.begin()), &field);
    names.push_back(&name);
  }
  std::vector<std::size_t> sorted(fields.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
  std::stable_sort(sorted.begin(), sorted.end(), [&fields](std::size_t a, std::size_t b) {
    return fields[a].first < fields[b].first;
  });
  out += '{';
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0) out += ',';
    const std::string& name = *names[sorted[i]];
    (out += api::FormatJson(name)) += ':';
    WriteOrdered(*fields[sorted[i]].second, IsMap(name) ? FieldOrder{} : order, depth + 1, out);
  }
  out += '}';
}

const Json& FieldOf(const Json& object, const char* name) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

void WriteContainers(const Json& containers, std::string& out) {
  if (!containers.is_array()) {
    out += "null";
    return;
  }
  out += '[';
  for (std::size_t i = 0; i < containers.size(); ++i) {
    if (i > 0) out += ',';
    out += "{\"ports\":";
    WriteOrdered(FieldOf(containers[i], "ports"), kFieldOrder, 0, out);
    out += ",\"resources\":{\"requests\":";
    out += api::FormatJson(FieldOf(FieldOf(containers[i], "resources"), "requests"));
    out += "}}";
  }
  out += ']';
}

}  // namespace

std::string RoleHash(const Json& spec) {
  std::string text = "{\"spec\":{\"affinity\":";
  WriteOrdered(FieldOf(spec, "affinity"), kFieldOrder, 0, text);
  text += ",\"containers\":";
  WriteContainers(FieldOf(spec, "containers"), text);
  text += ",\"initContainers\":";
  WriteContainers(FieldOf(spec, "initContainers"), text);
  const auto add = [&](const char* name, FieldOrder order) {
    ((text += ",\"") += name) += "\":";
    WriteOrdered(FieldOf(spec, name), order, 0, text);
  };
  add("nodeSelector", {});
  add("overhead", {});
  add("priority", {});
  add("resourceClaims", kFieldOrder);
  if (const Json& own = FieldOf(FieldOf(spec, "resources"), "requests"); !own.is_null()) {
    text += ",\"resources\":{\"requests\":" + api::FormatJson(own) + "}";
  }
  add("runtimeClassName", {});
  add("tolerations", kTolerationOrder);
  add("topologySpreadConstraints", kSpreadOrder);
  text += "}}";
  return Sha256Hex(text).substr(0, kRoleHashLength);
}

}  // namespace berth::integrations

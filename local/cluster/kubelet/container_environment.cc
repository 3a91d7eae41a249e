#include "local/cluster/kubelet/container_environment.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/codec/json_write.h"
#include "api/quantity.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

void Set(Environment& environment, const std::string& name, const std::string& value) {
  for (auto& [known, old] : environment) {
    if (known == name) {
      old = value;
      return;
    }
  }
  environment.emplace_back(name, value);
}

std::string Text(const Json& value) { return value.is_string() ? value.get<std::string>() : ""; }

// metadata.labels['key'] and metadata.annotations['key'].
std::string MapEntry(const Json& pod, const std::string& path) {
  const std::size_t open = path.find("['");
  const std::size_t close = path.rfind("']");
  if (open == std::string::npos || close == std::string::npos || close < open) return "";
  const std::string key = path.substr(open + 2, close - open - 2);
  if (path.rfind("metadata.labels", 0) == 0) return LabelOf(pod, key);
  return AnnotationOf(pod, key);
}

// key="value", a line each.
std::string MapText(const Json& pod, std::string_view map) {
  const Json* entries = Find(pod, {"metadata", map});
  std::string text;
  if (entries == nullptr || !entries->is_object()) return text;
  for (const auto& [key, value] : entries->items()) {
    text += (text.empty() ? "" : "\n") + key + "=" + api::FormatJson(Text(value));
  }
  return text;
}

Result<std::string> DataValue(DataKind kind, const Json& reference, const DataLookup& lookup,
                              bool& is_missing) {
  const char* word = kind == DataKind::kConfigMap ? "configmap" : "secret";
  const std::string name = StringAt(reference, {"name"});
  const std::string key = StringAt(reference, {"key"});
  const Json data = lookup(kind, name);
  is_missing = data.is_null() || !data.contains(key);
  if (!is_missing) return Text(data[key]);
  if (BoolAt(reference, {"optional"})) return std::string();
  if (data.is_null()) {
    return Error{ErrorCode::kInvalid, fmt::format("{} \"{}\" not found", word, name)};
  }
  return Error{ErrorCode::kInvalid, fmt::format("couldn't find key {} in {} {}", key, word, name)};
}

Status AddFrom(const Json& source, const DataLookup& lookup, Environment& environment) {
  const bool is_map = Find(source, {"configMapRef"}) != nullptr;
  const char* field = is_map ? "configMapRef" : "secretRef";
  const Json* reference = Find(source, {field});
  if (reference == nullptr) return OkStatus();
  const std::string name = StringAt(*reference, {"name"});
  const Json data = lookup(is_map ? DataKind::kConfigMap : DataKind::kSecret, name);
  if (data.is_null()) {
    if (BoolAt(*reference, {"optional"})) return OkStatus();
    return Error{ErrorCode::kInvalid,
                 fmt::format("{} \"{}\" not found", is_map ? "configmap" : "secret", name)};
  }
  for (const auto& [key, value] : data.items()) {
    Set(environment, StringAt(source, {"prefix"}) + key, Text(value));
  }
  return OkStatus();
}

Status AddOne(const Json& pod, const Json& container, const Json& one, const DataLookup& lookup,
              Environment& environment) {
  const std::string name = StringAt(one, {"name"});
  const Json* from = Find(one, {"valueFrom"});
  if (from == nullptr) {
    Set(environment, name, ExpandVariables(StringAt(one, {"value"}), environment));
    return OkStatus();
  }
  bool is_missing = false;
  if (const Json* field = Find(*from, {"fieldRef"}); field != nullptr) {
    Set(environment, name, DownwardField(pod, StringAt(*field, {"fieldPath"})));
  } else if (const Json* resource = Find(*from, {"resourceFieldRef"}); resource != nullptr) {
    Set(environment, name, DownwardResource(pod, container, *resource));
  } else if (const Json* map = Find(*from, {"configMapKeyRef"}); map != nullptr) {
    BERTH_TRY(const std::string value, DataValue(DataKind::kConfigMap, *map, lookup, is_missing));
    if (!is_missing) Set(environment, name, value);
  } else if (const Json* secret = Find(*from, {"secretKeyRef"}); secret != nullptr) {
    BERTH_TRY(const std::string value, DataValue(DataKind::kSecret, *secret, lookup, is_missing));
    if (!is_missing) Set(environment, name, value);
  }
  return OkStatus();
}

}  // namespace

std::string DownwardField(const Json& pod, const std::string& path) {
  if (path.find("['") != std::string::npos) return MapEntry(pod, path);
  if (path == "metadata.labels" || path == "metadata.annotations") {
    return MapText(pod, path == "metadata.labels" ? "labels" : "annotations");
  }
  if (path == "metadata.name") return NameOf(pod);
  if (path == "metadata.namespace") return NamespaceOf(pod);
  if (path == "metadata.uid") return UidOf(pod);
  if (path == "spec.nodeName") return StringAt(pod, {"spec", "nodeName"});
  if (path == "spec.serviceAccountName") {
    return StringAt(pod, {"spec", "serviceAccountName"}, "default");
  }
  if (path == "status.podIP" || path == "status.podIPs") {
    return StringAt(pod, {"status", "podIP"}, "127.0.0.1");
  }
  if (path == "status.hostIP" || path == "status.hostIPs") return "127.0.0.1";
  return "";
}

// limits.cpu in whole cores, rounded up, unless a divisor is given.
std::string DownwardResource(const Json& pod, const Json& container, const Json& reference) {
  const std::string resource = StringAt(reference, {"resource"});
  const std::size_t dot = resource.find('.');
  if (dot == std::string::npos) return "";
  const std::string list = resource.substr(0, dot);
  const std::string name = resource.substr(dot + 1);
  const std::string from = StringAt(reference, {"containerName"});
  const Json* source = &container;
  for (const Json& other : ArrayAt(pod, {"spec", "containers"})) {
    if (!from.empty() && StringAt(other, {"name"}) == from) source = &other;
  }
  const Json* found = Find(*source, {"resources", list, name});
  if (found == nullptr) return "";
  const auto amount = api::ParseAmount(
      name, found->is_string() ? found->get<std::string>() : api::FormatJson(*found));
  const std::string divisor_text = StringAt(reference, {"divisor"}, "1");
  const auto divisor = api::ParseAmount(name, divisor_text == "0" ? "1" : divisor_text);
  if (!amount || !divisor || *divisor <= 0) return "";
  return std::to_string((*amount + *divisor - 1) / *divisor);
}

Result<Environment> MakeEnvironment(const Json& pod, const Json& container,
                                    const DataLookup& lookup) {
  Environment environment;
  for (const Json& source : ArrayAt(container, {"envFrom"})) {
    BERTH_CHECK_OK(AddFrom(source, lookup, environment));
  }
  for (const Json& one : ArrayAt(container, {"env"})) {
    BERTH_CHECK_OK(AddOne(pod, container, one, lookup, environment));
  }
  return environment;
}

std::string ExpandVariables(const std::string& text, const Environment& environment) {
  std::string expanded;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '$' || at + 1 == text.size()) {
      expanded += text[at];
      continue;
    }
    if (text[at + 1] == '$') {
      expanded += '$';
      ++at;
      continue;
    }
    const std::size_t close = text[at + 1] == '(' ? text.find(')', at) : std::string::npos;
    if (close == std::string::npos) {
      expanded += '$';
      continue;
    }
    const std::string name = text.substr(at + 2, close - at - 2);
    const auto known = std::find_if(environment.begin(), environment.end(),
                                    [&](const auto& one) { return one.first == name; });
    expanded += known == environment.end() ? text.substr(at, close - at + 1) : known->second;
    at = close;
  }
  return expanded;
}

}  // namespace berth::local::cluster

#include "local/cluster/usage/usage_api.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "api/codec/json_write.h"
#include "base/rfc3339.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/schema/selector.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

constexpr char kVersion[] = "v1beta1";
constexpr char kApiVersion[] = "metrics.k8s.io/v1beta1";
constexpr std::int64_t kKi = 1024;
constexpr int kNotFoundCode = 404;

struct Kind {
  const char* resource;
  const char* kind;
  bool namespaced;
};
constexpr Kind kKinds[] = {{"nodes", "NodeMetrics", false}, {"pods", "PodMetrics", true}};

net::Response JsonAnswer(const Json& body, const std::string& type = "application/json") {
  net::Response response;
  response.headers.Add("Content-Type", type);
  response.body = api::FormatJson(body) + "\n";
  return response;
}

Json GroupDocument() {
  const Json version{{"groupVersion", kApiVersion}, {"version", kVersion}};
  return {
      {"name", kUsageGroup}, {"versions", Json::array({version})}, {"preferredVersion", version}};
}

Json ResourcesDocument() {
  Json resources = Json::array();
  for (const Kind& one : kKinds) {
    resources.push_back({{"name", one.resource},
                         {"singularName", ""},
                         {"namespaced", one.namespaced},
                         {"kind", one.kind},
                         {"verbs", {"get", "list"}}});
  }
  return {{"kind", "APIResourceList"},
          {"apiVersion", "v1"},
          {"groupVersion", kApiVersion},
          {"resources", std::move(resources)}};
}

Json AggregatedDocument(const std::string& api_version) {
  Json resources = Json::array();
  for (const Kind& one : kKinds) {
    resources.push_back(
        {{"resource", one.resource},
         {"responseKind", {{"group", kUsageGroup}, {"version", kVersion}, {"kind", one.kind}}},
         {"scope", one.namespaced ? "Namespaced" : "Cluster"},
         {"singularResource", ""},
         {"verbs", {"get", "list"}}});
  }
  const Json version{
      {"version", kVersion}, {"freshness", "Current"}, {"resources", std::move(resources)}};
  Json item{{"metadata", {{"name", kUsageGroup}}}, {"versions", Json::array({version})}};
  return {{"kind", "APIGroupDiscoveryList"},
          {"apiVersion", api_version},
          {"metadata", Json::object()},
          {"items", Json::array({std::move(item)})}};
}

// Writes amounts in metrics-server's form: nanocores, and whole Ki.
Json Amounts(const ContainerUsage& usage) {
  return {{"cpu", fmt::format("{}n", usage.nanocores)},
          {"memory", fmt::format("{}Ki", usage.bytes / kKi)}};
}

Json MetricsObject(const char* kind, const Json& of, Duration window, WallTime now) {
  Json metadata{{"name", NameOf(of)}, {"creationTimestamp", FormatTime(now)}};
  if (!NamespaceOf(of).empty()) metadata["namespace"] = NamespaceOf(of);
  if (const Json* labels = Find(of, {"metadata", "labels"}); labels != nullptr) {
    metadata["labels"] = *labels;
  }
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(window).count();
  return {{"kind", kind},
          {"apiVersion", kApiVersion},
          {"metadata", std::move(metadata)},
          {"timestamp", FormatTime(now)},
          {"window", fmt::format("{}.{:03}s", milliseconds / 1000, milliseconds % 1000)}};
}

const PodUsage* UsageOf(const UsageView& view, const Json& pod) {
  const auto found = view.usage_by_uid.find(UidOf(pod));
  return found == view.usage_by_uid.end() ? nullptr : &found->second;
}

std::optional<Json> PodMetrics(const Json& pod, const UsageView& view) {
  const PodUsage* usage = UsageOf(view, pod);
  if (usage == nullptr) return std::nullopt;
  Json metrics = MetricsObject("PodMetrics", pod, usage->window, view.now);
  metrics["containers"] = Json::array();
  for (const auto& [name, used] : usage->by_container) {
    metrics["containers"].push_back({{"name", name}, {"usage", Amounts(used)}});
  }
  return metrics;
}

Json NodeMetrics(const Json& node, const UsageView& view) {
  ContainerUsage sum;
  Duration window{};
  for (const Object& pod : view.pods) {
    if (StringAt(*pod, {"spec", "nodeName"}) != NameOf(node)) continue;
    const PodUsage* usage = UsageOf(view, *pod);
    if (usage == nullptr) continue;
    window = std::max(window, usage->window);
    for (const auto& [name, used] : usage->by_container) {
      sum.nanocores += used.nanocores;
      sum.bytes += used.bytes;
    }
  }
  Json metrics = MetricsObject("NodeMetrics", node, window, view.now);
  metrics["usage"] = Amounts(sum);
  return metrics;
}

bool IsSelected(const Json& object, const LabelSelector& labels, const FieldSelector& fields) {
  const Json* own = Find(object, {"metadata", "labels"});
  return Matches(labels, own == nullptr ? Json() : *own) &&
         Matches(fields, [&](std::string_view field) { return FieldText(object, field); });
}

}  // namespace

net::Response UsageRefusal(const ApiError& error) {
  net::Response response = JsonAnswer(StatusOf(error));
  response.status = error.code;
  return response;
}

std::optional<net::Response> UsageDocument(std::string_view path, std::string_view accept) {
  if (path == "/apis") {
    if (accept.find("g=apidiscovery.k8s.io") == std::string_view::npos) {
      return JsonAnswer({{"kind", "APIGroupList"},
                         {"apiVersion", "v1"},
                         {"groups", Json::array({GroupDocument()})}});
    }
    const bool is_beta = accept.find("v=v2beta1") != std::string_view::npos;
    return JsonAnswer(
        AggregatedDocument(is_beta ? "apidiscovery.k8s.io/v2beta1" : "apidiscovery.k8s.io/v2"));
  }
  const std::string root = std::string("/apis/") + kUsageGroup;
  if (path == root) {
    Json group = GroupDocument();
    group["kind"] = "APIGroup";
    group["apiVersion"] = "v1";
    return JsonAnswer(group);
  }
  if (path == root + "/" + kVersion) return JsonAnswer(ResourcesDocument());
  return std::nullopt;
}

net::Response UsageAnswer(const Target& target, const ApiPath& path, const UsageView& view) {
  const bool is_pods = path.resource == "pods";
  const bool is_served = path.version == kVersion && path.subresource.empty() &&
                         (is_pods || path.resource == "nodes") &&
                         (is_pods || path.namespace_name.empty()) &&
                         (!is_pods || path.name.empty() || !path.namespace_name.empty());
  if (!is_served) {
    return UsageRefusal(
        {kNotFoundCode, "NotFound", "the server could not find the requested resource", Json()});
  }
  if (target.IsTrue("watch")) {
    return UsageRefusal({405, "MethodNotAllowed",
                         fmt::format("watch is not supported on resources of kind \"{}.{}\"",
                                     path.resource, kUsageGroup),
                         Json()});
  }
  const auto labels = ParseLabelSelector(target.Get("labelSelector"));
  if (!labels) return UsageRefusal(labels.error());
  const auto fields = ParseFieldSelector(target.Get("fieldSelector"));
  if (!fields) return UsageRefusal(fields.error());
  const char* kind = is_pods ? "PodMetrics" : "NodeMetrics";
  const auto wrong = CheckFieldSelector(*fields, {"metadata.name", "metadata.namespace"}, kind,
                                        KindOrigin::kBuiltin);
  if (wrong) return UsageRefusal(*wrong);
  Json items = Json::array();
  for (const Object& object : is_pods ? view.pods : view.nodes) {
    if (!path.name.empty() && NameOf(*object) != path.name) continue;
    if (!IsSelected(*object, *labels, *fields)) continue;
    if (!is_pods) {
      items.push_back(NodeMetrics(*object, view));
    } else if (auto one = PodMetrics(*object, view)) {
      items.push_back(*std::move(one));
    }
  }
  if (path.name.empty()) {
    return JsonAnswer({{"kind", std::string(kind) + "List"},
                       {"apiVersion", kApiVersion},
                       {"metadata", Json::object()},
                       {"items", std::move(items)}});
  }
  if (!items.empty()) return JsonAnswer(items[0]);
  const std::string name = is_pods ? path.namespace_name + "/" + path.name : path.name;
  return UsageRefusal(
      {kNotFoundCode, "NotFound",
       fmt::format("{}metrics.{} \"{}\" not found", is_pods ? "pod" : "node", kUsageGroup, name),
       Json()});
}

}  // namespace berth::local::cluster

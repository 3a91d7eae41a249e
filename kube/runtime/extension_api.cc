#include "kube/runtime/extension_api.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "base/strings.h"
#include "net/escapes.h"

namespace berth::kube {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kDiscoveryGroup = "g=apidiscovery.k8s.io";

net::Response JsonAnswer(int status, const Json& body, const std::string& type) {
  net::Response response;
  response.status = status;
  response.headers.Add("Content-Type", type);
  response.body = api::FormatJson(body) + "\n";
  return response;
}

Json GroupDocument(const ExtensionGroup& group) {
  Json versions = Json::array();
  for (const std::string& version : group.versions) {
    versions.push_back({{"groupVersion", group.name + "/" + version}, {"version", version}});
  }
  Json preferred = versions.front();
  return {{"kind", "APIGroup"},
          {"apiVersion", "v1"},
          {"name", group.name},
          {"versions", std::move(versions)},
          {"preferredVersion", std::move(preferred)}};
}

Json ResourcesDocument(const ExtensionGroup& group, const std::string& version) {
  Json resources = Json::array();
  for (const ExtensionResource& resource : group.resources) {
    resources.push_back({{"name", resource.name},
                         {"singularName", resource.singular},
                         {"namespaced", resource.namespaced},
                         {"kind", resource.kind},
                         {"verbs", Json::array()}});
    resources.push_back({{"name", resource.name + "/" + resource.subresource},
                         {"singularName", ""},
                         {"namespaced", resource.namespaced},
                         {"kind", resource.subresource_kind},
                         {"verbs", {"get"}}});
  }
  return {{"kind", "APIResourceList"},
          {"apiVersion", "v1"},
          {"groupVersion", group.name + "/" + version},
          {"resources", std::move(resources)}};
}

Json AggregatedDocument(const ExtensionGroup& group, const std::string& version_of_document) {
  const auto kind_of = [&group](const std::string& version, const std::string& kind) {
    return Json{{"group", group.name}, {"version", version}, {"kind", kind}};
  };
  Json versions = Json::array();
  for (const std::string& version : group.versions) {
    Json resources = Json::array();
    for (const ExtensionResource& resource : group.resources) {
      Json subresource{{"subresource", resource.subresource},
                       {"responseKind", kind_of(version, resource.subresource_kind)},
                       {"verbs", {"get"}}};
      resources.push_back({{"resource", resource.name},
                           {"responseKind", kind_of(version, resource.kind)},
                           {"scope", resource.namespaced ? "Namespaced" : "Cluster"},
                           {"singularResource", resource.singular},
                           {"verbs", Json::array()},
                           {"subresources", Json::array({std::move(subresource)})}});
    }
    versions.push_back(
        {{"version", version}, {"freshness", "Current"}, {"resources", std::move(resources)}});
  }
  Json item{{"metadata", {{"name", group.name}}}, {"versions", std::move(versions)}};
  return {{"kind", "APIGroupDiscoveryList"},
          {"apiVersion", "apidiscovery.k8s.io/" + version_of_document},
          {"metadata", Json::object()},
          {"items", Json::array({std::move(item)})}};
}

// "/apis/GROUP/VERSION/namespaces/{namespace}/localqueues/{name}/pendingworkloads".
std::string PathOf(const ExtensionGroup& group, const std::string& version,
                   const ExtensionResource& resource) {
  return "/apis/" + group.name + "/" + version +
         (resource.namespaced ? "/namespaces/{namespace}/" : "/") + resource.name + "/{name}/" +
         resource.subresource;
}

Json OperationOf(const ExtensionGroup& group, const std::string& version,
                 const ExtensionResource& resource) {
  return {{"description", "read " + resource.subresource + " of the " + resource.kind},
          {"operationId", "read" + version + resource.kind + resource.subresource_kind},
          {"x-kubernetes-action", "get"},
          {"x-kubernetes-group-version-kind",
           {{"group", group.name}, {"version", version}, {"kind", resource.subresource_kind}}}};
}

Json OpenApiV3(const ExtensionGroup& group, const std::string& version) {
  Json paths = Json::object();
  for (const ExtensionResource& resource : group.resources) {
    Json operation = OperationOf(group, version, resource);
    operation["responses"] = {
        {"200",
         {{"description", "OK"},
          {"content", {{"application/json", {{"schema", {{"type", "object"}}}}}}}}}};
    paths[PathOf(group, version, resource)] = {{"get", std::move(operation)}};
  }
  return {{"openapi", "3.0.0"},
          {"info", {{"title", "Berth"}, {"version", version}}},
          {"paths", std::move(paths)}};
}

Json OpenApiV2(const ExtensionGroup& group) {
  Json paths = Json::object();
  for (const std::string& version : group.versions) {
    for (const ExtensionResource& resource : group.resources) {
      Json operation = OperationOf(group, version, resource);
      operation["produces"] = {"application/json"};
      operation["responses"] = {{"200", {{"description", "OK"}, {"schema", {{"type", "object"}}}}}};
      paths[PathOf(group, version, resource)] = {{"get", std::move(operation)}};
    }
  }
  return {{"swagger", "2.0"},
          {"info", {{"title", "Berth"}, {"version", "v1"}}},
          {"paths", std::move(paths)},
          {"definitions", Json::object()}};
}

Json OpenApiIndex(const ExtensionGroup& group) {
  Json paths = Json::object();
  for (const std::string& version : group.versions) {
    const std::string name = "apis/" + group.name + "/" + version;
    paths[name] = {{"serverRelativeURL", "/openapi/v3/" + name}};
  }
  return {{"paths", std::move(paths)}};
}

// The parts of a path behind /apis/GROUP/.
std::optional<ExtensionRequest> ParseParts(const ExtensionGroup& group,
                                           const std::vector<std::string>& parts) {
  if (parts.size() < 4) return std::nullopt;
  ExtensionRequest request;
  request.version = parts[0];
  std::size_t at = 1;
  if (parts[at] == "namespaces" && parts.size() == 6) {
    request.namespace_name = parts[at + 1];
    at += 2;
  }
  if (parts.size() != at + 3) return std::nullopt;
  request.resource = parts[at];
  request.name = parts[at + 1];
  request.subresource = parts[at + 2];
  const auto& versions = group.versions;
  if (std::find(versions.begin(), versions.end(), request.version) == versions.end()) {
    return std::nullopt;
  }
  for (const ExtensionResource& resource : group.resources) {
    if (resource.name == request.resource && resource.subresource == request.subresource &&
        resource.namespaced != request.namespace_name.empty() && !request.name.empty()) {
      return request;
    }
  }
  return std::nullopt;
}

// A name of an object holds neither; `..` and the like never reach an object.
bool IsPlainSegment(std::string_view text) {
  return IsValidUtf8(text) && text.find('/') == std::string_view::npos &&
         text.find('\0') == std::string_view::npos;
}

}  // namespace

net::Response StatusAnswer(int code, const std::string& reason, const std::string& message) {
  return JsonAnswer(code,
                    {{"kind", "Status"},
                     {"apiVersion", "v1"},
                     {"metadata", Json::object()},
                     {"status", "Failure"},
                     {"message", message},
                     {"reason", reason},
                     {"code", code}},
                    "application/json");
}

ExtensionApi::ExtensionApi(ExtensionGroup group, Read read)
    : group_(std::move(group)), read_(std::move(read)) {}

std::optional<net::Response> ExtensionApi::DocumentFor(const std::string& path,
                                                       std::string_view accept) const {
  const std::string root = "/apis/" + group_.name;
  const auto plain = [](const Json& body) { return JsonAnswer(200, body, "application/json"); };
  if (path == "/apis") {
    if (accept.find(kDiscoveryGroup) != std::string_view::npos) {
      const bool is_old = accept.find("v=v2;") == std::string_view::npos;
      const std::string version = is_old ? "v2beta1" : "v2";
      return JsonAnswer(
          200, AggregatedDocument(group_, version),
          "application/json;g=apidiscovery.k8s.io;v=" + version + ";as=APIGroupDiscoveryList");
    }
    return plain({{"kind", "APIGroupList"},
                  {"apiVersion", "v1"},
                  {"groups", Json::array({GroupDocument(group_)})}});
  }
  if (path == root) return plain(GroupDocument(group_));
  if (path == "/openapi/v2") return plain(OpenApiV2(group_));
  if (path == "/openapi/v3") return plain(OpenApiIndex(group_));
  for (const std::string& version : group_.versions) {
    const std::string of_version = root + "/" + version;
    if (path == of_version) return plain(ResourcesDocument(group_, version));
    if (path == "/openapi/v3" + of_version) return plain(OpenApiV3(group_, version));
  }
  if (path == "/healthz" || path == "/livez" || path == "/readyz") {
    net::Response ok;
    ok.headers.Add("Content-Type", "text/plain; charset=utf-8");
    ok.body = "ok";
    return ok;
  }
  return std::nullopt;
}

ExtensionApi::Route ExtensionApi::RouteOf(const net::Request& request) const {
  const std::string_view target = request.target;
  const std::size_t mark = target.find('?');
  std::string path(target.substr(0, mark));
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (request.method != "GET") {
    return {.answer = StatusAnswer(405, "MethodNotAllowed", "only GET is allowed here")};
  }
  if (auto document = DocumentFor(path, request.headers.Find("Accept"))) {
    return {.answer = std::move(document)};
  }
  const net::Response unknown =
      StatusAnswer(404, "NotFound", "the server could not find the requested resource");
  const std::string root = "/apis/" + group_.name + "/";
  if (!path.starts_with(root)) return {.answer = unknown};
  std::vector<std::string> parts;
  for (const std::string_view part : Split(std::string_view(path).substr(root.size()), '/')) {
    const auto unescaped = net::Unescape(part, net::Plus::kLiteral);
    if (!unescaped || !IsPlainSegment(*unescaped)) {
      return {.answer = StatusAnswer(400, "BadRequest", "the path has a bad escape")};
    }
    parts.push_back(*unescaped);
  }
  auto parsed = ParseParts(group_, parts);
  if (!parsed) return {.answer = unknown};
  if (mark != std::string_view::npos) {
    for (const std::string_view pair : Split(target.substr(mark + 1), '&')) {
      const std::size_t equals = pair.find('=');
      const auto name = net::Unescape(pair.substr(0, equals), net::Plus::kBlank);
      const auto value = net::Unescape(
          equals == std::string_view::npos ? "" : pair.substr(equals + 1), net::Plus::kBlank);
      if (!name || !value) {
        return {.answer = StatusAnswer(400, "BadRequest", "the query has a bad escape")};
      }
      parsed->query.emplace(*name, *value);
    }
  }
  return {.request = std::move(parsed)};
}

}  // namespace berth::kube

#include "local/apiserver/http/request_access.h"

#include <algorithm>

#include "base/strings.h"
#include "local/apiserver/schema/selector.h"

namespace berth::local {
namespace {

std::string VerbOf(std::string_view method, const Target& target, bool named) {
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return named ? "delete" : "deletecollection";
  if (method != "GET" && method != "HEAD") return ToLower(method);
  if (named) return "get";
  return target.IsTrue("watch") ? "watch" : "list";
}

// A path below /api or /apis with more parts than ParseApiPath takes is one of a resource, too.
std::optional<ApiPath> LongPath(std::string_view path) {
  if (!path.starts_with("/api/") && !path.starts_with("/apis/")) return std::nullopt;
  while (true) {
    const std::size_t slash = path.rfind('/');
    if (slash == 0 || slash == std::string_view::npos) return std::nullopt;
    path = path.substr(0, slash);
    if (auto parsed = ParseApiPath(path)) return parsed;
  }
}

// The name that a list or watch is restricted to.
std::string SelectedName(const Target& target) {
  const auto selector = ParseFieldSelector(target.Get("fieldSelector"));
  if (!selector) return {};
  for (const FieldRequirement& one : *selector) {
    if (one.field == "metadata.name" && !one.negated) return one.value;
  }
  return {};
}

}  // namespace

AccessAttributes AttributesOf(std::string_view method, const Target& target,
                              const std::optional<ApiPath>& api) {
  AccessAttributes attributes;
  const std::optional<ApiPath> shortened = api ? std::nullopt : LongPath(target.path);
  const std::optional<ApiPath>& path = api ? api : shortened;
  if (!path || path->resource.empty()) {
    attributes.verb = ToLower(method == "HEAD" ? "get" : method);
    attributes.path = target.path;
    return attributes;
  }
  attributes.verb = VerbOf(method, target, !path->name.empty());
  attributes.group = path->group;
  attributes.version = path->version;
  attributes.resource = path->resource;
  attributes.subresource = path->subresource;
  attributes.namespace_name = path->namespace_name;
  attributes.name = path->name;
  // A namespace is in itself: a Role there may give rights to it.
  if (path->resource == "namespaces" && path->namespace_name.empty()) {
    attributes.namespace_name = path->name;
  }
  if (attributes.verb == "list" || attributes.verb == "watch") {
    attributes.name = SelectedName(target);
  }
  return attributes;
}

}  // namespace berth::local

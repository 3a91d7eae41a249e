// local/apiserver/http/target.h — parses request targets: query parameters, and paths of the
// Kubernetes API.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::local {

struct Target {
  std::string path;  // decoded
  std::multimap<std::string, std::string, std::less<>> query;

  // The first value of `name`; empty if absent.
  std::string Get(std::string_view name) const;
  bool Has(std::string_view name) const { return query.find(name) != query.end(); }
  // Whether the value is "true", in any case, or "1", or the name has no value.
  bool IsTrue(std::string_view name) const;
};

// nullopt: an escape is malformed, or the path, a name or a value of the query is not UTF-8.
std::optional<Target> ParseTarget(std::string_view target);

// /api/v1/namespaces/NS/pods/NAME/log, /apis/GROUP/VERSION/RESOURCE …; …/NAME/proxy/PATH is kept
// without PATH.
struct ApiPath {
  std::string group;
  std::string version;
  std::string namespace_name;
  std::string resource;  // empty: the group version itself
  std::string name;
  std::string subresource;
};

// nullopt: the path names no resource.
std::optional<ApiPath> ParseApiPath(std::string_view path);

}  // namespace berth::local

#include "local/apiserver/http/aggregated_documents.h"

#include <algorithm>
#include <map>
#include <utility>

#include "local/apiserver/http/discovery.h"
#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

void SortByPriority(std::vector<AggregatedVersion>& versions) {
  std::sort(versions.begin(), versions.end(),
            [](const AggregatedVersion& a, const AggregatedVersion& b) {
              if (a.priority != b.priority) return a.priority > b.priority;
              return VersionBefore(a.version, b.version);
            });
}

// The entry whose name, at `path`, is that of the group; a new one is `made`.
Json& GroupIn(Json& entries, std::initializer_list<std::string_view> path, const std::string& group,
              Json made) {
  for (Json& entry : entries) {
    if (TextAt(entry, path) == group) return entry;
  }
  entries.push_back(std::move(made));
  return entries.back();
}

Json KindOf(const Json& resource, const AggregatedVersion& version) {
  const std::string group = TextAt(resource, {"group"});
  const std::string of_version = TextAt(resource, {"version"});
  return {{"group", of_version.empty() ? version.group : group},
          {"version", of_version.empty() ? version.version : of_version},
          {"kind", TextAt(resource, {"kind"})}};
}

// The resources of an APIResourceList in the form of aggregated discovery, whose subresources are
// inside the resources.
Json NestedResources(const AggregatedVersion& version) {
  Json nested = Json::array();
  if (version.resources == nullptr) return nested;
  std::map<std::string, std::size_t> index_by_name;
  for (const Json& resource : ArrayAt(*version.resources, {"resources"})) {
    const std::string name = TextAt(resource, {"name"});
    const std::size_t slash = name.find('/');
    Json entry{{"responseKind", KindOf(resource, version)},
               {"verbs", ArrayAt(resource, {"verbs"})}};
    if (slash != std::string::npos) {
      const auto parent = index_by_name.find(name.substr(0, slash));
      if (parent == index_by_name.end()) continue;
      entry["subresource"] = name.substr(slash + 1);
      nested[parent->second]["subresources"].push_back(std::move(entry));
      continue;
    }
    entry["resource"] = name;
    entry["scope"] = BoolAt(resource, {"namespaced"}, false) ? "Namespaced" : "Cluster";
    entry["singularResource"] = TextAt(resource, {"singularName"});
    CopyOrErase(entry, resource, "shortNames");
    CopyOrErase(entry, resource, "categories");
    index_by_name.emplace(name, nested.size());
    nested.push_back(std::move(entry));
  }
  return nested;
}

}  // namespace

void AddAggregatedGroups(std::vector<AggregatedVersion> versions, Json& list) {
  SortByPriority(versions);
  for (const AggregatedVersion& each : versions) {
    const Json entry{{"groupVersion", each.group + "/" + each.version}, {"version", each.version}};
    Json& group =
        GroupIn(list["groups"], {"name"}, each.group,
                {{"name", each.group}, {"versions", Json::array()}, {"preferredVersion", entry}});
    group["versions"].push_back(entry);
  }
}

void AddAggregatedDiscovery(std::vector<AggregatedVersion> versions, Json& list) {
  SortByPriority(versions);
  for (const AggregatedVersion& each : versions) {
    Json& group = GroupIn(list["items"], {"metadata", "name"}, each.group,
                          {{"metadata", {{"name", each.group}}}, {"versions", Json::array()}});
    group["versions"].push_back({{"version", each.version},
                                 {"freshness", "Current"},
                                 {"resources", NestedResources(each)}});
  }
}

}  // namespace berth::local

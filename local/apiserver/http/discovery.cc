#include "local/apiserver/http/discovery.h"

#include <algorithm>
#include <tuple>

#include "base/sha256.h"
#include "base/strings.h"
#include "local/apiserver/registry/crd_conversion.h"
#include "local/apiserver/registry/status_errors.h"

namespace berth::local {
namespace {

struct VerbName {
  char letter;
  const char* name;
};
constexpr VerbName kVerbs[] = {{'c', "create"}, {'d', "delete"}, {'D', "deletecollection"},
                               {'g', "get"},    {'l', "list"},   {'p', "patch"},
                               {'u', "update"}, {'w', "watch"}};

Json VerbNames(std::string_view verbs) {
  Json names = Json::array();
  for (const VerbName& verb : kVerbs) {
    if (verbs.find(verb.letter) != std::string_view::npos) names.push_back(verb.name);
  }
  return names;
}

// v1 → (2, 1, 0), v1beta2 → (1, 1, 2), v1alpha1 → (0, 1, 1); other names sort last, by name.
std::tuple<int, std::int64_t, std::int64_t> VersionRank(std::string_view version) {
  if (version.size() < 2 || version[0] != 'v') return {-1, 0, 0};
  std::size_t i = 1;
  while (i < version.size() && version[i] >= '0' && version[i] <= '9') ++i;
  const auto major = ParseInt64(version.substr(1, i - 1));
  if (!major) return {-1, 0, 0};
  const std::string_view rest = version.substr(i);
  if (rest.empty()) return {2, *major, 0};
  for (const auto& [word, rank] : {std::pair<std::string_view, int>{"beta", 1}, {"alpha", 0}}) {
    if (rest.substr(0, word.size()) != word) continue;
    const auto minor = ParseInt64(rest.substr(word.size()));
    if (minor) return {rank, *major, *minor};
  }
  return {-1, 0, 0};
}

Json ResponseKind(const ResourceInfo& resource, const SubresourceInfo* subresource) {
  if (subresource == nullptr || subresource->kind.empty()) {
    return {
        {"group", resource.id.group}, {"version", resource.id.version}, {"kind", resource.kind}};
  }
  return {{"group", subresource->group},
          {"version", subresource->version},
          {"kind", subresource->kind}};
}

Json AggregatedResource(const ResourceInfo& resource) {
  Json entry{{"resource", resource.id.resource},
             {"responseKind", ResponseKind(resource, nullptr)},
             {"scope", resource.namespaced ? "Namespaced" : "Cluster"},
             {"singularResource", resource.singular},
             {"verbs", VerbNames(resource.verbs)}};
  if (!resource.short_names.empty()) entry["shortNames"] = resource.short_names;
  if (!resource.categories.empty()) entry["categories"] = resource.categories;
  for (const SubresourceInfo& subresource : resource.subresources) {
    entry["subresources"].push_back(Json{{"subresource", subresource.name},
                                         {"responseKind", ResponseKind(resource, &subresource)},
                                         {"verbs", VerbNames(subresource.verbs)}});
  }
  return entry;
}

// Differs between kinds, and changes with the version in which objects are stored.
std::string StorageVersionHash(const ResourceInfo& resource) {
  const std::string stored = StoredVersion(resource);
  // The core group has no slash.
  const std::string group = stored.find('/') == std::string::npos ? "/" : "";
  const std::string hex = Sha256Hex(group + stored + "/" + resource.kind);
  constexpr std::size_t kBytes = 8;
  std::string bytes;
  for (std::size_t i = 0; i < kBytes; ++i) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(2 * i, 2), nullptr, 16)));
  }
  return Base64Encode(bytes);
}

void AddPlain(Json& resources, const ResourceInfo& resource) {
  Json entry{{"name", resource.id.resource},
             {"singularName", resource.singular},
             {"namespaced", resource.namespaced},
             {"kind", resource.kind},
             {"verbs", VerbNames(resource.verbs)}};
  if (!resource.short_names.empty()) entry["shortNames"] = resource.short_names;
  if (!resource.categories.empty()) entry["categories"] = resource.categories;
  if (resource.Allows('l')) entry["storageVersionHash"] = StorageVersionHash(resource);
  resources.push_back(std::move(entry));
  for (const SubresourceInfo& subresource : resource.subresources) {
    Json sub{{"name", resource.id.resource + "/" + subresource.name},
             {"singularName", ""},
             {"namespaced", resource.namespaced},
             {"kind", subresource.kind.empty() ? resource.kind : subresource.kind},
             {"verbs", VerbNames(subresource.verbs)}};
    if (!subresource.kind.empty() && subresource.group != resource.id.group) {
      sub["group"] = subresource.group;
      sub["version"] = subresource.version;
    }
    resources.push_back(std::move(sub));
  }
}

Json GroupEntry(const ResourceTable& table, const std::string& group) {
  Json versions = Json::array();
  for (const std::string& version : VersionsOf(table, group)) {
    versions.push_back({{"groupVersion", ApiVersion(group, version)}, {"version", version}});
  }
  Json preferred = versions.empty() ? Json() : versions.front();
  return {{"name", group}, {"versions", versions}, {"preferredVersion", std::move(preferred)}};
}

}  // namespace

bool VersionBefore(std::string_view a, std::string_view b) {
  const auto rank_a = VersionRank(a);
  const auto rank_b = VersionRank(b);
  if (rank_a != rank_b) return rank_a > rank_b;
  return a < b;
}

std::vector<std::string> VersionsOf(const ResourceTable& table, std::string_view group) {
  std::vector<std::string> versions;
  for (const ResourcePtr& resource : table.all()) {
    if (resource->id.group != group) continue;
    if (std::find(versions.begin(), versions.end(), resource->id.version) == versions.end()) {
      versions.push_back(resource->id.version);
    }
  }
  std::sort(versions.begin(), versions.end(), VersionBefore);
  return versions;
}

std::vector<std::string> GroupsOf(const ResourceTable& table) {
  std::vector<std::string> groups;
  for (const ResourcePtr& resource : table.all()) {
    const std::string& group = resource->id.group;
    if (group.empty()) continue;
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
  }
  return groups;
}

Json CoreVersions(const std::string& server_address) {
  return {{"kind", "APIVersions"},
          {"versions", Json::array({"v1"})},
          {"serverAddressByClientCIDRs",
           Json::array({{{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", server_address}}})}};
}

Json GroupList(const ResourceTable& table) {
  Json groups = Json::array();
  for (const std::string& group : GroupsOf(table)) groups.push_back(GroupEntry(table, group));
  return {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}};
}

Json GroupOf(const ResourceTable& table, const std::string& group) {
  Json entry = GroupEntry(table, group);
  entry["kind"] = "APIGroup";
  entry["apiVersion"] = "v1";
  return entry;
}

Json ResourceList(const ResourceTable& table, const std::string& group,
                  const std::string& version) {
  Json resources = Json::array();
  for (const ResourcePtr& resource : table.all()) {
    if (resource->id.group == group && resource->id.version == version) {
      AddPlain(resources, *resource);
    }
  }
  return {{"kind", "APIResourceList"},
          {"apiVersion", "v1"},
          {"groupVersion", ApiVersion(group, version)},
          {"resources", std::move(resources)}};
}

Json AggregatedDiscovery(const ResourceTable& table, Root root, const std::string& api_version) {
  Json items = Json::array();
  const std::vector<std::string> groups =
      root == Root::kCore ? std::vector<std::string>{""} : GroupsOf(table);
  for (const std::string& group : groups) {
    Json versions = Json::array();
    for (const std::string& version : VersionsOf(table, group)) {
      Json resources = Json::array();
      for (const ResourcePtr& resource : table.all()) {
        if (resource->id.group == group && resource->id.version == version) {
          resources.push_back(AggregatedResource(*resource));
        }
      }
      versions.push_back(
          {{"version", version}, {"freshness", "Current"}, {"resources", std::move(resources)}});
    }
    Json metadata = Json::object();
    if (!group.empty()) metadata["name"] = group;
    items.push_back({{"metadata", std::move(metadata)}, {"versions", std::move(versions)}});
  }
  return {{"kind", "APIGroupDiscoveryList"},
          {"apiVersion", api_version},
          {"metadata", Json::object()},
          {"items", std::move(items)}};
}

}  // namespace berth::local

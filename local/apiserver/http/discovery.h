// local/apiserver/http/discovery.h — the documents of API discovery (groups, versions, resources),
// in the plain and the aggregated form.
//
// Threads: pure functions. Source: Kubernetes API discovery; apidiscovery.k8s.io/v2.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "local/apiserver/registry/catalog.h"

namespace berth::local {

// The versions of a group in order of preference: GA, beta, alpha; then the higher number
// first.
std::vector<std::string> VersionsOf(const ResourceTable& table, std::string_view group);
// Groups in the order of their first resource, without the core group.
std::vector<std::string> GroupsOf(const ResourceTable& table);

Json CoreVersions(const std::string& server_address);                // /api
Json GroupList(const ResourceTable& table);                          // /apis
Json GroupOf(const ResourceTable& table, const std::string& group);  // /apis/GROUP
Json ResourceList(const ResourceTable& table, const std::string& group,
                  const std::string& version);  // /apis/GROUP/VERSION
// kCore: the core group (/api); kGroups: all other groups (/apis).
enum class Root { kCore, kGroups };
Json AggregatedDiscovery(const ResourceTable& table, Root root, const std::string& api_version);

// Whether version `a` is preferred to `b`.
bool VersionBefore(std::string_view a, std::string_view b);

}  // namespace berth::local

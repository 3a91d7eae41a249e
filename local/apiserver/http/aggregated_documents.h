// local/apiserver/http/aggregated_documents.h — group versions of other servers in the documents of
// discovery.
//
// Pure. Source: Kubernetes API discovery; apidiscovery.k8s.io/v2.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "local/apiserver/api.h"

namespace berth::local {

struct AggregatedVersion {
  std::string group;
  std::string version;
  std::int64_t priority = 0;  // versions with higher priority come earlier in the group
  Object resources;           // the APIResourceList that the server has answered; null: none
  Json openapi;               // the version's entry in the index of OpenAPI v3; null: none
};

// Adds the versions to the groups of an APIGroupList, and groups that the list lacks.
void AddAggregatedGroups(std::vector<AggregatedVersion> versions, Json& list);
// Adds the groups that an APIGroupDiscoveryList lacks, and versions to those that it has.
void AddAggregatedDiscovery(std::vector<AggregatedVersion> versions, Json& list);

}  // namespace berth::local

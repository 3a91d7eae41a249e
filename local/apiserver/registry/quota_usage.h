// local/apiserver/registry/quota_usage.h — the amounts that an object takes of a ResourceQuota.
//
// Pure. Source: Kubernetes "Resource Quotas", restated. The scope CrossNamespacePodAffinity counts
// nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/quantity.h"
#include "local/apiserver/api.h"

namespace berth::local {

// The amounts of `object` by names of spec.hard: {"pods": 1, "requests.cpu": 500, "count/pods": 1,
// …}. `storage`: "pods", "jobs.batch", ….
api::ResourceAmounts QuotaUsage(std::string_view storage, const Json& object);

// Whether the quota's scopes include the object.
bool IsInScope(const Json& quota, std::string_view storage, const Json& object);

// The storage names of the kinds that the names of spec.hard count.
std::vector<std::string> CountedKinds(const Json& quota);

api::Amount QuotaAmount(const std::string& name, const Json& quantity);
std::string QuotaText(const std::string& name, api::Amount amount);

// The reason why the quota has no room for `usage` beside status.used, in Kubernetes' words; "": it
// has room.
std::string QuotaRefusal(const Json& quota, const api::ResourceAmounts& usage);
// The resources that the quota requires every container of the pod to name and that some container
// does not name; "": none.
std::string MissingForQuota(const Json& quota, const Json& pod);

}  // namespace berth::local

// webhook/policy_rules.h — validates the zones of ProvisioningPolicies against those of the
// cluster's machines. The CRD has the rules that need the policy alone.
//
//     step's zones ─ flavor's zone label, else zones of the flavor's pool, else of all pools
//         ─▶ errors
//
// A zone is refused only where the zones are known: a flavor or a pool that does not exist yet
// refuses nothing, and a step that an update does not change is not checked again.
//
// Threads: pure functions.
#pragma once

#include <map>
#include <set>
#include <string>

#include "api/object_meta.h"
#include "api/provisioning_policy.h"
#include "webhook/review_error.h"

namespace berth::webhook {

// The zones of machines, as far as the objects of the cluster name them.
struct KnownZones {
  std::map<std::string, api::StringMap> flavors;  // nodeLabels of ResourceFlavors, by name
  // Zones of the cloud's pools, by name; empty: pools are unknown.
  std::map<std::string, std::set<std::string>> pools;
};

// `old`: null on create.
FieldErrors ValidateProvisioningPolicy(const api::ProvisioningPolicy& policy,
                                       const api::ProvisioningPolicy* old, const KnownZones& known);

}  // namespace berth::webhook

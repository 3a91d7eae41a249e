#include "webhook/policy_rules.h"

#include <algorithm>
#include <vector>

#include "api/labels.h"
#include "base/strings.h"

namespace berth::webhook {
namespace {

// The zones in which a step may ask, and whose they are.
struct PossibleZones {
  std::set<std::string> zones;  // empty: unknown
  std::string of;
};

PossibleZones ZonesOfPools(const KnownZones& known) {
  PossibleZones possible{.zones = {}, .of = "a node pool"};
  for (const auto& [name, zones] : known.pools) possible.zones.insert(zones.begin(), zones.end());
  return possible;
}

PossibleZones ZonesFor(const api::ProvisioningStep& step, const KnownZones& known) {
  if (step.flavor.empty()) return ZonesOfPools(known);
  const auto flavor = known.flavors.find(step.flavor);
  if (flavor == known.flavors.end()) return {};
  const std::string named = "flavor " + step.flavor;
  if (const std::string* zone = api::FindValue(flavor->second, api::kZoneLabel)) {
    return {.zones = {*zone}, .of = named};
  }
  const std::string* pool = api::FindValue(flavor->second, api::kGkeNodePoolLabel);
  if (pool == nullptr) return ZonesOfPools(known);
  const auto found = known.pools.find(*pool);
  if (found == known.pools.end()) return {};
  return {.zones = found->second, .of = "node pool " + *pool + " of " + named};
}

bool IsUnchanged(const api::ProvisioningStep& step, const api::ProvisioningPolicy* old) {
  return old != nullptr &&
         std::any_of(old->steps.begin(), old->steps.end(), [&step](const auto& before) {
           return before.name == step.name && before.flavor == step.flavor &&
                  before.zones == step.zones;
         });
}

}  // namespace

FieldErrors ValidateProvisioningPolicy(const api::ProvisioningPolicy& policy,
                                       const api::ProvisioningPolicy* old,
                                       const KnownZones& known) {
  FieldErrors errors;
  for (std::size_t i = 0; i < policy.steps.size(); ++i) {
    const api::ProvisioningStep& step = policy.steps[i];
    if (step.zones.empty() || IsUnchanged(step, old)) continue;
    const PossibleZones possible = ZonesFor(step, known);
    if (possible.zones.empty()) continue;
    const std::vector<std::string> names(possible.zones.begin(), possible.zones.end());
    const Path zones = Path("spec.steps").Index(i).Child("zones");
    for (std::size_t j = 0; j < step.zones.size(); ++j) {
      if (possible.zones.contains(step.zones[j])) continue;
      errors.push_back(Invalid(zones.Index(j), Quoted(step.zones[j]),
                               "no zone of " + possible.of + ": name one of " + Join(names, ", ") +
                                   ", or add the zone to the node pools first"));
    }
  }
  return errors;
}

}  // namespace berth::webhook

#include "provisioning/zones.h"

#include <algorithm>
#include <set>

#include "api/labels.h"
#include "provisioning/gang.h"
#include "provisioning/policy_steps.h"

namespace berth::provisioning {
namespace {

void AddZone(const api::StringMap& labels, std::set<std::string>& into) {
  const std::string* zone = api::FindValue(labels, api::kZoneLabel);
  if (zone != nullptr) into.insert(*zone);
}

bool HasZone(const std::vector<std::string>& zones, const std::string& zone) {
  return std::find(zones.begin(), zones.end(), zone) != zones.end();
}

}  // namespace

std::vector<std::string> BoundZones(const api::ProvisioningStep& step, const VetoInput& input) {
  std::set<std::string> bound;
  for (const GangPart& part : GangOf(input.workload, input.config).parts) {
    AddZone(part.selector, bound);
  }
  std::vector<std::string> flavors{step.flavor};
  if (step.flavor.empty()) flavors = FlavorsOf(input.workload);
  for (const std::string& name : flavors) {
    if (input.flavors == nullptr) break;
    const auto flavor = input.flavors->find(name);
    if (flavor != input.flavors->end()) AddZone(flavor->second.node_labels, bound);
  }
  return {bound.begin(), bound.end()};
}

std::vector<std::string> PossibleZones(const api::ProvisioningStep& step, const VetoInput& input) {
  if (step.zones.empty()) return {};
  std::vector<std::string> zones = step.zones;
  const std::vector<std::string> bound = BoundZones(step, input);
  std::erase_if(zones, [&bound](const std::string& zone) {
    return std::any_of(bound.begin(), bound.end(),
                       [&zone](const std::string& each) { return each != zone; });
  });
  return zones;
}

const api::StockEntry* RestIn(const std::string& zone, const api::ProvisioningStep& step,
                              const VetoInput& input) {
  if (input.stock == nullptr || input.policy.stock == api::ProvisioningPolicy::Stock::kIgnored) {
    return nullptr;
  }
  const std::string& provisioning_class = step.provisioning_class_name.empty()
                                              ? input.config.provisioning_class_name
                                              : step.provisioning_class_name;
  if (input.stock->Of(provisioning_class).empty()) return nullptr;
  // The machines of a step of any flavor are known with an admission only.
  const auto key =
      StockKeyOf(input.workload, input.config, step.flavor, FlavorsOf(input.workload), zone);
  return key ? input.stock->RestOf(provisioning_class, *key, input.now) : nullptr;
}

std::string NextZone(const api::ProvisioningStep& step, const VetoInput& input, std::int32_t failed,
                     const std::vector<std::string>& taken) {
  std::vector<std::string> zones = PossibleZones(step, input);
  if (zones.empty()) return "";
  const auto turn = static_cast<std::size_t>(std::max(failed, 0)) % zones.size();
  std::rotate(zones.begin(), zones.begin() + static_cast<std::ptrdiff_t>(turn), zones.end());
  for (const std::string& zone : zones) {
    if (!HasZone(taken, zone) && RestIn(zone, step, input) == nullptr) return zone;
  }
  return taken.empty() ? zones.front() : "";
}

}  // namespace berth::provisioning

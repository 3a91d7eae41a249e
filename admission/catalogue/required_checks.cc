#include "admission/catalogue/required_checks.h"

#include <algorithm>

namespace berth::admission {

bool AppliesTo(const api::AdmissionCheckRule& rule, const std::string& flavor) {
  return rule.on_flavors.empty() ||
         std::find(rule.on_flavors.begin(), rule.on_flavors.end(), flavor) != rule.on_flavors.end();
}

std::vector<std::string> RequiredChecks(const api::ClusterQueueSpec& spec,
                                        const std::vector<std::string>& flavors) {
  std::vector<std::string> checks;
  for (const api::AdmissionCheckRule& rule : spec.admission_checks) {
    const bool applies = rule.on_flavors.empty() || std::any_of(flavors.begin(), flavors.end(),
                                                                [&rule](const std::string& flavor) {
                                                                  return AppliesTo(rule, flavor);
                                                                });
    if (applies) checks.push_back(rule.check);
  }
  std::sort(checks.begin(), checks.end());
  return checks;
}

std::vector<std::string> ChecksBeforeReservation(const api::ClusterQueueSpec& spec) {
  std::vector<std::string> checks;
  for (const api::AdmissionCheckRule& rule : spec.admission_checks) {
    bool covers_all = true;
    for (const api::ResourceGroup& group : spec.resource_groups) {
      for (const api::FlavorQuotas& quotas : group.flavors) {
        covers_all = covers_all && AppliesTo(rule, quotas.flavor);
      }
    }
    if (covers_all) checks.push_back(rule.check);
  }
  std::sort(checks.begin(), checks.end());
  return checks;
}

}  // namespace berth::admission

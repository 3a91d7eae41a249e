#include "admission/catalogue/check_table.h"

#include <algorithm>

#include "admission/catalogue/required_checks.h"
#include "api/condition.h"
#include "api/reasons.h"
#include "checks/check_kinds.h"

namespace berth::admission {

void CheckTable::Set(const api::AdmissionCheck& object) {
  checks_[object.meta.name] = {api::IsTrue(object.conditions, api::kActive),
                               object.controller_name};
}

void CheckTable::Remove(const std::string& name) { checks_.erase(name); }

const CheckTable::Check* CheckTable::Find(const std::string& name) const {
  const auto found = checks_.find(name);
  return found == checks_.end() ? nullptr : &found->second;
}

bool CheckTable::AskForCapacity(const std::vector<api::AdmissionCheckRule>& rules,
                                const std::string& flavor) const {
  return std::any_of(rules.begin(), rules.end(), [&](const api::AdmissionCheckRule& rule) {
    const Check* const check = Find(rule.check);
    return check != nullptr &&
           checks::CapacityOf(check->controller) == checks::Capacity::kRequested &&
           AppliesTo(rule, flavor);
  });
}

}  // namespace berth::admission

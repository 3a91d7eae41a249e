#include "api/holds.h"

#include <string_view>

#include "api/labels.h"
#include "api/reasons.h"
#include "base/strings.h"

namespace berth::api {

std::vector<std::string> AdmissionGatesOf(const ObjectMeta& meta) {
  std::vector<std::string> gates;
  const std::string* text = FindValue(meta.annotations, kAdmissionGatedByAnnotation);
  if (text == nullptr) return gates;
  for (const std::string_view gate : Split(*text, ',')) gates.emplace_back(TrimSpace(gate));
  return gates;
}

bool IsGated(const Workload& workload) {
  const std::string* text = FindValue(workload.meta.annotations, kAdmissionGatedByAnnotation);
  return text != nullptr && !text->empty();
}

bool IsOnHold(const Workload& workload) {
  const Condition* reserved = FindCondition(workload.status.conditions, kQuotaReserved);
  return reserved != nullptr && reserved->status == ConditionStatus::kFalse &&
         reserved->reason == kOnHold;
}

}  // namespace berth::api

#include "provisioning/check_events.h"

#include "api/check_state.h"
#include "base/strings.h"
#include "provisioning/reasons.h"

namespace berth::provisioning {
CheckEvent StateEvent(const api::AdmissionCheckState& before,
                      const api::AdmissionCheckState& after) {
  std::string message = "Admission check " + after.name + " updated state from " +
                        api::ToString(before.state) + " to " + api::ToString(after.state);
  if (!after.message.empty()) message += " with message: " + after.message;
  return CheckEvent{"AdmissionCheckUpdated", std::string(TruncateUtf8(message, kMaxEventBytes))};
}

std::optional<CheckEvent> AdviceOn(const std::string& check, const std::string& reason) {
  const ReasonInfo& info = Explain(reason);
  if (info.reason_class == ReasonClass::kProgress) return std::nullopt;
  return CheckEvent{"CapacityAdvice", check + ": " + reason + " (" +
                                          std::string(ReasonClassName(info.reason_class)) +
                                          "): " + std::string(info.remedy)};
}

}  // namespace berth::provisioning

#include "provisioning/check_events.h"

#include "base/strings.h"
#include "provisioning/reasons.h"

namespace berth::provisioning {
namespace {

using api::CheckState;

std::string_view StateName(CheckState state) {
  switch (state) {
    case CheckState::kPending: return "Pending";
    case CheckState::kReady: return "Ready";
    case CheckState::kRetry: return "Retry";
    case CheckState::kRejected: return "Rejected";
  }
  return "";
}

}  // namespace

CheckEvent StateEvent(const api::AdmissionCheckState& before,
                      const api::AdmissionCheckState& after) {
  std::string message = "Admission check " + after.name + " updated state from " +
                        std::string(StateName(before.state)) + " to " +
                        std::string(StateName(after.state));
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

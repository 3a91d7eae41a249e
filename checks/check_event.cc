#include "checks/check_event.h"

#include "api/check_state.h"
#include "base/strings.h"

namespace berth::checks {

CheckEvent StateEvent(const api::AdmissionCheckState& before,
                      const api::AdmissionCheckState& after) {
  std::string message = "Admission check " + after.name + " updated state from " +
                        api::ToString(before.state) + " to " + api::ToString(after.state);
  if (!after.message.empty()) message += " with message: " + after.message;
  return CheckEvent{"AdmissionCheckUpdated", std::string(TruncateUtf8(message, kMaxEventBytes))};
}

}  // namespace berth::checks

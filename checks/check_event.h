// checks/check_event.h — events of an admission check on the Workload.
//
// Units: bytes of UTF-8. Threads: pure functions. Errors: none.
#pragma once

#include <cstddef>
#include <string>

#include "api/workload.h"

namespace berth::checks {

// The longest message of an event.
inline constexpr std::size_t kMaxEventBytes = 1024;

struct CheckEvent {  // on the Workload; a warning also on its Job
  std::string reason;
  std::string message;
  bool warning = false;
};

// "Admission check dws-prov updated state from Pending to Ready with message: …".
CheckEvent StateEvent(const api::AdmissionCheckState& before,
                      const api::AdmissionCheckState& after);

}  // namespace berth::checks

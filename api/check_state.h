// api/check_state.h — the states of admission checks as the API spells them.
//
// Threads: pure function. Errors: none.
#pragma once

#include "api/workload.h"

namespace berth::api {

inline const char* ToString(CheckState state) {
  switch (state) {
    case CheckState::kPending: return "Pending";
    case CheckState::kReady: return "Ready";
    case CheckState::kRetry: return "Retry";
    case CheckState::kRejected: return "Rejected";
  }
  return "";
}

}  // namespace berth::api

// provisioning/check_events.h — the events of a check that changes its state, or that can be
// helped.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <optional>
#include <string>

#include "api/workload.h"
#include "provisioning/decide.h"

namespace berth::provisioning {

inline constexpr std::size_t kMaxEventBytes = 1024;

// "Admission check dws-prov updated state from Pending to Ready with message: …".
CheckEvent StateEvent(const api::AdmissionCheckState& before,
                      const api::AdmissionCheckState& after);

// The role that can act and the remedy: messages of clouds name the problem only. nullopt: the
// reason is no obstacle.
std::optional<CheckEvent> AdviceOn(const std::string& check, const std::string& reason);

}  // namespace berth::provisioning

// provisioning/check_events.h — the events and messages of a provisioning check that say how an
// obstacle can be removed.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/workload.h"
#include "provisioning/decide.h"

namespace berth::provisioning {

// The event that names the remedy of `reason`, because messages of clouds name the problem only.
// If there is a policy, the event ends with the role that can act. nullopt: the reason is no
// obstacle.
std::optional<CheckEvent> AdviceOn(const std::string& check, const std::string& reason,
                                   bool has_policy);

// "No step may request capacity: step a (PriceLimitExceeded): …. What helps (an administrator): …",
// at most checks::kMaxEventBytes. `reasons`: the reasons of the vetoes. A reason for which nobody
// has to act adds nothing.
std::string VetoMessage(const std::string& begin, const std::string& passed_over,
                        const std::vector<std::string>& reasons);

// The advice on each of `reasons` that the earlier message `told` does not name.
std::vector<CheckEvent> AdviceOnVetoes(const std::string& check,
                                       const std::vector<std::string>& reasons,
                                       const std::string& told);

}  // namespace berth::provisioning

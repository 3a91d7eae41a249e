// provisioning/check_events.h — the events of a check of provisioning that can be helped.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/workload.h"
#include "provisioning/decide.h"

namespace berth::provisioning {

// The role that can act and the remedy: messages of clouds name the problem only. nullopt: the
// reason is no obstacle.
// If there is a policy, the event ends with who can act: without one it stays as it is known.
std::optional<CheckEvent> AdviceOn(const std::string& check, const std::string& reason,
                                   bool has_policy);

// "No step may ask: step a (PriceLimitExceeded): …. What helps (an administrator): …", at most
// checks::kMaxEventBytes. `reasons`: those of the vetoes; a remedy that needs nobody is left out.
std::string VetoMessage(const std::string& begin, const std::string& passed_over,
                        const std::vector<std::string>& reasons);

// The advice on those vetoes that the message before did not tell.
std::vector<CheckEvent> AdviceOnVetoes(const std::string& check,
                                       const std::vector<std::string>& reasons,
                                       const std::string& told);

}  // namespace berth::provisioning

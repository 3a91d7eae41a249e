// cli/eta_flags.h — --eta-interval, of the commands that run the controllers.
//
// Threads: pure functions. Errors: kInvalid, with the flag.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace berth::cli {

inline constexpr Duration kLeastEtaInterval = std::chrono::seconds(1);

// The interval at which the starts of waiting jobs are forecast and kept on their Workloads
// (program/eta_writer.h); nullopt: never. `text`: Go's notation, or "0"; nullopt: the interval is
// `usual`.
Result<std::optional<Duration>> EtaIntervalOf(const std::optional<std::string>& text,
                                              std::optional<Duration> usual);

}  // namespace berth::cli

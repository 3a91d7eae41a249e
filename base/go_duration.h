// base/go_duration.h — durations in Go's notation, as Kubernetes writes them in files and in URLs.
//
// Threads: pure function. Source: the Go standard library, time.ParseDuration.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"

namespace berth {

// "300ms", "5m", "1h30m0s", "1.5h", "0"; nullopt on anything else, a sign and more than Go's range
// included.
std::optional<Duration> ParseGoDuration(std::string_view text);

}  // namespace berth

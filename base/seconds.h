// base/seconds.h — a number of seconds that somebody wrote, as a Duration.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace berth {

// Cut to a thousand years either way, so that neither the conversion to Duration nor a sum with any
// time that ParseTime reads leaves the range.
constexpr Duration BoundedSeconds(std::int64_t seconds) {
  constexpr std::int64_t kMost = 1000LL * 366 * 24 * 3600;
  return std::chrono::seconds(std::clamp(seconds, -kMost, kMost));
}

}  // namespace berth

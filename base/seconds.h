// base/seconds.h — converts a number of seconds from outside to a Duration.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace berth {

// Limits `seconds` to a thousand years either way, so that the conversion to Duration and a sum
// with any time that ParseTime returns stay in range.
constexpr Duration BoundedSeconds(std::int64_t seconds) {
  constexpr std::int64_t kMost = 1000LL * 366 * 24 * 3600;
  return std::chrono::seconds(std::clamp(seconds, -kMost, kMost));
}

}  // namespace berth

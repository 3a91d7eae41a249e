// base/clock.h — the interface through which the program reads the time.
//
// Pure code takes a WallTime argument; only shells hold a Clock.
#pragma once

#include <chrono>

namespace berth {

using Duration = std::chrono::microseconds;
using WallTime = std::chrono::sys_time<Duration>;  // can be shown and stored; can jump
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;  // for intervals

// Threads: every implementation may be called from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime Now() const = 0;
  virtual SteadyTime SteadyNow() const = 0;
};

// `time` cut to whole seconds, as the Kubernetes API stores metav1.Time.
constexpr WallTime CutToSeconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time);
}

}  // namespace berth

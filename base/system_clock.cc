#include "base/system_clock.h"

namespace berth {

WallTime SystemClock::Now() const {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

SteadyTime SystemClock::SteadyNow() const {
  return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
}

}  // namespace berth

// tests/faults/play_times.h — times that the played operators share.
#pragma once

#include <chrono>

#include "base/clock.h"

namespace berth::sim {

// The pause of a played operator before it repeats a write that failed.
inline constexpr Duration kRetry = std::chrono::seconds(2);

// The time in which news of a deleted object may still be on their way, faults included.
inline constexpr Duration kNewsTakes = std::chrono::seconds(75);

}  // namespace berth::sim

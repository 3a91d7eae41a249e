// tests/simulation/faults/shrink.h — a failing story with everything left out that it does not
// need to fail.
#pragma once

#include <functional>

#include "tests/simulation/faults/story.h"

namespace berth::sim {

// Leaves out events, faults and blows, first in large pieces, as long as `fails`, which is asked at
// most `limit` times.
Story Shrink(Story story, const std::function<bool(const Story&)>& fails, int limit);

}  // namespace berth::sim

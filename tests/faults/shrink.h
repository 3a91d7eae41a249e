// tests/faults/shrink.h — shrinks a failing story to the parts that it needs to
// fail.
#pragma once

#include <functional>

#include "tests/faults/story.h"

namespace berth::sim {

// Removes events, faults and blows, large pieces first, as long as `fails` is true; calls it at
// most `limit` times.
Story Shrink(Story story, const std::function<bool(const Story&)>& fails, int limit);

}  // namespace berth::sim

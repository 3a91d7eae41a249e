// base/median.h — the median of numbers, durations and the like.
//
// Threads: pure function. Errors: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/assert.h"

namespace berth {

// The median; of an even number of values the upper one of both. Precondition: there is a value.
template <typename T>
T MedianOf(std::vector<T> values) {
  BERTH_ASSERT(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace berth

// base/nearest_rank.h — quantiles by nearest rank: the least value that `share` of the values do
// not exceed. The quantile is one of the values. The quantile at 0.5 of an even number of values is
// the lower one of both in the middle; MedianOf() in base/median.h gives the upper one.
//
// Precondition: 0 ≤ share ≤ 1. Threads: pure functions. Errors: none.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/assert.h"

namespace berth {

// The index of the quantile in `count` sorted values. Precondition: count > 0.
inline std::size_t NearestRank(double share, std::size_t count) {
  BERTH_ASSERT(share >= 0 && share <= 1 && count > 0);
  const double rank = std::ceil(share * static_cast<double>(count));  // from 1; 0 for the share 0
  return static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
}

// The quantile of the values, which may have any order; nullopt: there are no values. Costs
// O(values).
template <typename T>
std::optional<T> QuantileOf(std::vector<T> values, double share) {
  if (values.empty()) return std::nullopt;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(NearestRank(share, values.size()));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace berth

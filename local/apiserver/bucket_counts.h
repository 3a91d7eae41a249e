// local/apiserver/bucket_counts.h — the counts of a histogram.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace berth::local {

// `counts`: the values up to each bound that are above the bound before; the last count is of
// larger values. Not cumulative.
// Threads: none.
template <std::size_t kBounds>
struct BucketCounts {
  std::array<std::uint64_t, kBounds + 1> counts{};
  double sum = 0;
  void Add(const std::array<double, kBounds>& bounds, double value) {
    std::size_t at = 0;
    while (at < kBounds && value > bounds[at]) ++at;
    ++counts[at];
    sum += value;
  }
};

}  // namespace berth::local

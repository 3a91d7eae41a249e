// jobs/haversine/kernel.h — the inner loop, compiled once per processor variant.
//
// kernel.cc is compiled once per variant, with that variant's -march and with -ffast-math, which
// allows the vector versions of sin, cos and asin. No other file has the flag, because it changes
// the meaning of comparisons with NaN. Callers must pass finite values only.
//
// Threads: every function may be called from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace berth::haversine {

// Histogram of distances by whole kilometres; the last bin counts all longer ones.
inline constexpr std::size_t kBinCount = 41;

struct Summary {
  std::uint64_t rows = 0;
  double sum_km = 0.0;
  double max_km = 0.0;
  std::array<std::uint64_t, kBinCount> bins{};

  void Add(const Summary& later);
};

// Writes the distances of `count` trips to `km`; `columns` as kColumnNames.
using DistanceFunction = void (*)(const double* const* columns, std::size_t count, double* km);

struct Kernel {
  std::string_view name;  // "x86-64-v3"
  DistanceFunction distances;
};

// The kernels that this processor can run, fastest first; never empty.
std::vector<Kernel> UsableKernels();

Summary Summarise(std::span<const double> km);

}  // namespace berth::haversine

#include <algorithm>

#include "jobs/haversine/kernel.h"
#include "jobs/haversine/kernel_variants.h"

namespace berth::haversine {

void Summary::Add(const Summary& later) {
  rows += later.rows;
  sum_km += later.sum_km;
  max_km = std::max(max_km, later.max_km);
  for (std::size_t bin = 0; bin < kBinCount; ++bin) bins[bin] += later.bins[bin];
}

std::vector<Kernel> UsableKernels() {
  std::vector<Kernel> kernels;
#ifdef BERTH_HAVERSINE_X86
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (v4) kernels.push_back({"x86-64-v4", DistancesV4});
  if (v3) kernels.push_back({"x86-64-v3", DistancesV3});
#endif
  kernels.push_back({"portable", DistancesPortable});
  return kernels;
}

Summary Summarise(std::span<const double> km) {
  // Several partial sums: with one sum each addition waits for the last. Always the same number, so
  // that the result does not depend on the processor.
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> sums{};
  std::array<double, kLanes> maxima{};
  std::array<std::array<std::uint32_t, kBinCount>, 2> bins{};
  const std::size_t whole = km.size() / kLanes * kLanes;
  for (std::size_t row = 0; row < whole; row += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double value = km[row + lane];
      sums[lane] += value;
      maxima[lane] = value > maxima[lane] ? value : maxima[lane];
    }
  }
  for (std::size_t row = whole; row < km.size(); ++row) {
    sums[0] += km[row];
    maxima[0] = std::max(maxima[0], km[row]);
  }
  constexpr double kLast = static_cast<double>(kBinCount - 1);
  for (std::size_t row = 0; row < km.size(); ++row) {
    const double clamped = km[row] < kLast ? km[row] : kLast;
    ++bins[row % 2][static_cast<std::uint32_t>(clamped)];
  }

  Summary summary;
  summary.rows = km.size();
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    summary.sum_km += sums[lane];
    summary.max_km = std::max(summary.max_km, maxima[lane]);
  }
  for (std::size_t bin = 0; bin < kBinCount; ++bin) {
    summary.bins[bin] = std::uint64_t{bins[0][bin]} + bins[1][bin];
  }
  return summary;
}

}  // namespace berth::haversine

// jobs/haversine/kernel_variants.h — the names under which kernel.cc is compiled. See kernel.h.
//
// This header must not define or include inline functions: the linker keeps one copy of each, maybe
// the one compiled for a newer processor.
#pragma once

#include <cstddef>

namespace berth::haversine {

inline constexpr double kEarthRadiusKm = 6371.0;

// `columns`: the four of kColumnNames, `count` values each.
void DistancesPortable(const double* const* columns, std::size_t count, double* km);
void DistancesV3(const double* const* columns, std::size_t count, double* km);
void DistancesV4(const double* const* columns, std::size_t count, double* km);

}  // namespace berth::haversine

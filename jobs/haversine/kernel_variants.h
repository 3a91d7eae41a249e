// jobs/haversine/kernel_variants.h — the names under which kernel.cc is compiled. See kernel.h.
//
// No inline function may come in here or through here: the linker would keep one copy of it, which
// could be the one compiled for a newer processor.
#pragma once

#include <cstddef>

namespace berth::haversine {

inline constexpr double kEarthRadiusKm = 6371.0;

// `columns`: the four of kColumnNames, `count` values each.
void DistancesPortable(const double* const* columns, std::size_t count, double* km);
void DistancesV3(const double* const* columns, std::size_t count, double* km);
void DistancesV4(const double* const* columns, std::size_t count, double* km);

}  // namespace berth::haversine

// Compiled once per variant: BERTH_KERNEL_VARIANT names the function.
#include <cmath>
#include <cstddef>
#include <numbers>

#include "jobs/haversine/kernel_variants.h"

namespace berth::haversine {

void BERTH_KERNEL_VARIANT(const double* const* columns, std::size_t count, double* km) {
  constexpr double kRadians = std::numbers::pi / 180.0;
  // Without __restrict the compiler assumes that stores change later loads.
  const double* __restrict pickup_longitude = columns[0];
  const double* __restrict pickup_latitude = columns[1];
  const double* __restrict dropoff_longitude = columns[2];
  const double* __restrict dropoff_latitude = columns[3];
  double* __restrict result = km;
  for (std::size_t row = 0; row < count; ++row) {
    const double half_dlat = (dropoff_latitude[row] - pickup_latitude[row]) * (kRadians / 2);
    const double half_dlon = (dropoff_longitude[row] - pickup_longitude[row]) * (kRadians / 2);
    const double sin_dlat = std::sin(half_dlat);
    const double sin_dlon = std::sin(half_dlon);
    double h = sin_dlat * sin_dlat + std::cos(pickup_latitude[row] * kRadians) *
                                         std::cos(dropoff_latitude[row] * kRadians) * sin_dlon *
                                         sin_dlon;
    h = h < 0.0 ? 0.0 : h;  // rounding may leave [0,1], the domain of asin
    h = h > 1.0 ? 1.0 : h;
    result[row] = 2 * kEarthRadiusKm * std::asin(std::sqrt(h));
  }
}

}  // namespace berth::haversine

#include "jobs/haversine/reference.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "jobs/haversine/kernel_variants.h"

namespace berth::haversine {

long double ReferenceDistanceKm(const std::array<double, 4>& trip) {
  constexpr long double kRadians = std::numbers::pi_v<long double> / 180.0L;
  const long double latitude1 = trip[1] * kRadians;
  const long double latitude2 = trip[3] * kRadians;
  const long double dlon =
      (static_cast<long double>(trip[2]) - static_cast<long double>(trip[0])) * kRadians;
  const long double sin1 = std::sin(latitude1);
  const long double cos1 = std::cos(latitude1);
  const long double sin2 = std::sin(latitude2);
  const long double cos2 = std::cos(latitude2);
  const long double across = cos2 * std::sin(dlon);
  const long double along = cos1 * sin2 - sin1 * cos2 * std::cos(dlon);
  return static_cast<long double>(kEarthRadiusKm) *
         std::atan2(std::hypot(across, along), sin1 * sin2 + cos1 * cos2 * std::cos(dlon));
}

double ToleranceKm(long double reference_km) {
  constexpr long double kNearlyAntipodalKm = 19900.0L;
  return reference_km > kNearlyAntipodalKm ? 1e-3 : 1e-6;
}

void CheckReport::Add(const CheckReport& later) {
  checked += later.checked;
  failed += later.failed;
  worst_km = std::max(worst_km, later.worst_km);
  if (first_failure.empty()) first_failure = later.first_failure;
}

CheckReport CheckRows(const Columns& trips, std::span<const double> km, std::size_t rows) {
  CheckReport report;
  const std::size_t count = std::min(rows, trips.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t row = i * trips.size() / count;
    const auto& values = trips.values;
    const std::array<double, 4> trip = {values[0][row], values[1][row], values[2][row],
                                        values[3][row]};
    const long double expected = ReferenceDistanceKm(trip);
    const auto difference = static_cast<double>(std::fabs(expected - km[row]));
    ++report.checked;
    report.worst_km = std::max(report.worst_km, difference);
    if (difference <= ToleranceKm(expected)) continue;  // false for NaN too
    ++report.failed;
    if (!report.first_failure.empty()) continue;
    std::array<char, 256> text{};
    std::snprintf(text.data(), text.size(),
                  "(%.9g, %.9g) to (%.9g, %.9g): computed %.9f km, reference %.9Lf km", trip[0],
                  trip[1], trip[2], trip[3], km[row], expected);
    report.first_failure = text.data();
  }
  return report;
}

}  // namespace berth::haversine

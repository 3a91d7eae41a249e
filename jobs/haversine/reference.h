// jobs/haversine/reference.h — a slow reference distance in long double, by another formula, to
// check the fast ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "jobs/haversine/trip.h"

namespace berth::haversine {

// Vincenty's formula on the sphere: well conditioned at every distance, unlike the haversine,
// which loses digits near the antipode.
long double ReferenceDistanceKm(const std::array<double, 4>& trip);

// The allowed difference from the reference: 1e-6 km, and 1e-3 km for nearly antipodal points,
// where the haversine formula loses precision.
double ToleranceKm(long double reference_km);

struct CheckReport {
  std::uint64_t checked = 0;
  std::uint64_t failed = 0;
  double worst_km = 0.0;      // the largest difference
  std::string first_failure;  // the trip and both distances; empty: no failure

  void Add(const CheckReport& later);
};

// Compares `rows` trips, evenly spread, or all if there are fewer.
CheckReport CheckRows(const Columns& trips, std::span<const double> km, std::size_t rows);

}  // namespace berth::haversine

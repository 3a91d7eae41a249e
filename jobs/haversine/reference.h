// jobs/haversine/reference.h — the distance in long double, slow and by another formula, to check
// the fast ones against.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "jobs/haversine/trip.h"

namespace berth::haversine {

// Vincenty's formula on the sphere: well conditioned at every distance, unlike the haversine,
// which loses digits near the antipode.
long double ReferenceDistanceKm(const std::array<double, 4>& trip);

// How far a fast result may be from the reference: 1e-6 km, and 1e-3 km where the points are so
// nearly antipodal that the haversine formula itself cannot tell more.
double ToleranceKm(long double reference_km);

struct CheckReport {
  std::uint64_t checked = 0;
  std::uint64_t failed = 0;
  double worst_km = 0.0;      // the largest difference
  std::string first_failure;  // the trip, both distances; empty where none failed

  void Add(const CheckReport& later);
};

// Compares `rows` of the trips, evenly spread, or all of them where there are fewer.
CheckReport CheckRows(const Columns& trips, const std::vector<double>& km, std::size_t rows);

}  // namespace berth::haversine

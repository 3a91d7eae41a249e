// jobs/haversine/gpu_distance.h — the distance of a trip as the GPU computes it.
//
// The formula has no branch and no call, so that all threads of a warp take the same path: one
// polynomial for every sine and cosine, one for the arcsine. Both are near-minimax in double
// precision (Chebyshev fits with 50 digits); the relative error of a fit is below 2^-57. The
// processor can evaluate the same functions, so that tests need no GPU.
//
// Threads: every function may be called from any thread.
#pragma once

#include <cmath>

#include "jobs/haversine/kernel_variants.h"

#ifdef __CUDACC__
#define BERTH_ON_GPU __host__ __device__
#else
#define BERTH_ON_GPU
#endif

namespace berth::haversine {

// sin(degrees · π/180) for |degrees| ≤ 90.
BERTH_ON_GPU inline double SineOfDegrees(double degrees) {
  const double z = degrees * degrees;
  double p = 3.5215636853781895e-45;
  p = fma(p, z, -3.246578307599586e-39);
  p = fma(p, z, 2.2393536136565418e-33);
  p = fma(p, z, -1.1468201091065514e-27);
  p = fma(p, z, 4.1412674153403277e-22);
  p = fma(p, z, -9.788384861587552e-17);
  p = fma(p, z, 1.3496016231632312e-11);
  p = fma(p, z, -8.86096155701298e-07);
  p = fma(p, z, 0.017453292519943295);
  return degrees * p;
}

// asin(√square) for 0 ≤ square ≤ 1. Above ½ the complement is computed, whose root is the smaller.
BERTH_ON_GPU inline double ArcsineOfRoot(double square) {
  constexpr double kHalfPi = 1.57079632679489661923;
  const bool large = square > 0.5;
  const double r = large ? 1.0 - square : square;
  double p = 1.1264192878807509;
  p = fma(p, r, -4.438816692066939);
  p = fma(p, r, 8.32498352944691);
  p = fma(p, r, -9.669659398550623);
  p = fma(p, r, 7.768165374555008);
  p = fma(p, r, -4.535791802822955);
  p = fma(p, r, 2.0016041109291547);
  p = fma(p, r, -0.6641236302549411);
  p = fma(p, r, 0.1809574620911065);
  p = fma(p, r, -0.026316324552338826);
  p = fma(p, r, 0.015091795028583365);
  p = fma(p, r, 0.01092934906491237);
  p = fma(p, r, 0.01401917204006966);
  p = fma(p, r, 0.017349310327158196);
  p = fma(p, r, 0.022372313172485805);
  p = fma(p, r, 0.030381939881673394);
  p = fma(p, r, 0.044642857225197834);
  p = fma(p, r, 0.07499999999921603);
  p = fma(p, r, 0.16666666666666963);
  p = fma(p, r, 1.0);
  const double angle = sqrt(r) * p;
  return large ? kHalfPi - angle : angle;
}

// Degrees; |latitude| ≤ 90, |longitude| ≤ 180.
BERTH_ON_GPU inline double GpuDistanceKm(double longitude1, double latitude1, double longitude2,
                                         double latitude2) {
  // The shorter way round, so that half of the difference is at most 90 degrees. It is exact.
  const double way = fabs(longitude2 - longitude1);
  const double sin_dlon = SineOfDegrees(0.5 * fmin(way, 360.0 - way));
  const double sin_dlat = SineOfDegrees(0.5 * (latitude2 - latitude1));
  // The cosine of a latitude is the sine of the distance from the pole.
  const double cosines =
      SineOfDegrees(90.0 - fabs(latitude1)) * SineOfDegrees(90.0 - fabs(latitude2));
  const double h = fma(cosines, sin_dlon * sin_dlon, sin_dlat * sin_dlat);
  return 2 * kEarthRadiusKm * ArcsineOfRoot(fmin(1.0, h));
}

}  // namespace berth::haversine

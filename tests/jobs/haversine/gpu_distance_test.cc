// Goal: the formula that the GPU computes is as precise as double precision allows, for every pair
// of points on Earth; no GPU is needed to show it.
// Method: polynomials against long double over their whole range; distances against the reference.
#include "jobs/haversine/gpu_distance.h"

#include <cmath>
#include <numbers>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/haversine/reference.h"

namespace berth::haversine {
namespace {

constexpr long double kRadians = std::numbers::pi_v<long double> / 180.0L;
constexpr double kUlp = 0x1p-53;

TEST(GpuDistance, TheSineIsPreciseToAUnitInTheLastPlace) {
  for (int i = -900'000; i <= 900'000; ++i) {
    const double degrees = i / 1e4;
    const long double exact = std::sin(degrees * kRadians);
    EXPECT_NEAR(SineOfDegrees(degrees), static_cast<double>(exact),
                4 * kUlp * std::fabs(static_cast<double>(exact)))
        << degrees;
  }
}

TEST(GpuDistance, TheArcsineIsPreciseFromTheSmallestSquareToTheLargest) {
  std::vector<double> squares = {0.0, 1.0, 0.5, std::nextafter(0.5, 1.0), std::nextafter(1.0, 0.0)};
  for (int i = 1; i < 1'000'000; ++i) squares.push_back(i / 1e6);
  for (double tiny = 1.0; tiny > 1e-40; tiny /= 3) squares.push_back(tiny);
  for (const double square : squares) {
    const long double exact = std::asin(std::sqrt(static_cast<long double>(square)));
    EXPECT_NEAR(ArcsineOfRoot(square), static_cast<double>(exact),
                6 * kUlp * static_cast<double>(exact))
        << square;
  }
}

TEST(GpuDistance, AgreesWithTheReferenceEverywhere) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> longitude(-180.0, 180.0);
  std::uniform_real_distribution<double> latitude(-90.0, 90.0);
  std::uniform_real_distribution<double> exponent(-9.0, 0.0);
  for (int i = 0; i < 300'000; ++i) {
    std::array<double, 4> trip = {longitude(random), latitude(random), longitude(random),
                                  latitude(random)};
    if (i % 3 == 1) {  // near each other, down to a millimetre
      trip[2] = std::clamp(trip[0] + std::pow(10.0, exponent(random)), -180.0, 180.0);
      trip[3] = std::clamp(trip[1] + std::pow(10.0, exponent(random)), -90.0, 90.0);
    } else if (i % 3 == 2) {  // near a pole
      trip[1] = 90.0 - std::pow(10.0, exponent(random));
      trip[3] = 90.0 - std::pow(10.0, exponent(random));
    }
    const long double exact = ReferenceDistanceKm(trip);
    ASSERT_NEAR(GpuDistanceKm(trip[0], trip[1], trip[2], trip[3]), static_cast<double>(exact),
                ToleranceKm(exact))
        << trip[0] << ' ' << trip[1] << ' ' << trip[2] << ' ' << trip[3];
  }
}

struct KnownRow {
  std::string_view name;
  std::array<double, 4> trip;
  double km;
  double tolerance_km;
};

TEST(GpuDistance, GivesTheKnownDistances) {
  constexpr double kHalfCircumferenceKm = kEarthRadiusKm * std::numbers::pi;
  for (const KnownRow& row : std::vector<KnownRow>{
           {"nowhere", {-73.9, 40.7, -73.9, 40.7}, 0.0, 0.0},
           {"a degree of a meridian", {10, 20, 10, 21}, kHalfCircumferenceKm / 180, 1e-9},
           {"across the date line", {179.5, 0.0, -179.5, 0.0}, kHalfCircumferenceKm / 180, 1e-9},
           {"the date line is one place", {180, 12, -180, 12}, 0.0, 0.0},
           {"pole to pole", {0.0, 90, 0.0, -90}, kHalfCircumferenceKm, 1e-3},
           {"antipodes on the equator", {0.0, 0.0, 180, 0.0}, kHalfCircumferenceKm, 1e-3},
           {"one centimetre", {-73.9, 40.7, -73.9, 40.7 + 9e-8}, 1.0007543398e-5, 1e-12},
       }) {
    EXPECT_NEAR(GpuDistanceKm(row.trip[0], row.trip[1], row.trip[2], row.trip[3]), row.km,
                row.tolerance_km)
        << row.name;
  }
}

}  // namespace
}  // namespace berth::haversine

// Goal: every kernel that this processor runs computes the great-circle distance to a millionth of
// a kilometre, and the summary counts every distance once.
// Method: generated and hand-picked trips against the long-double reference.
#include "jobs/haversine/kernel.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/haversine/kernel_variants.h"
#include "jobs/haversine/reference.h"
#include "tests/jobs/haversine/memory_reader.h"

namespace berth::haversine {
namespace {

constexpr double kHalfCircumferenceKm = kEarthRadiusKm * std::numbers::pi;

struct KernelRow {
  std::string_view name;
  std::array<double, 4> trip;
  double km;
  double tolerance_km;
};

const std::vector<KernelRow>& KnownDistances() {
  static const std::vector<KernelRow> rows = {
      {"nowhere", {-73.9, 40.7, -73.9, 40.7}, 0.0, 0.0},
      {"a degree of a meridian", {10, 20, 10, 21}, kHalfCircumferenceKm / 180, 1e-9},
      {"a degree of the equator", {10, 0.0, 11, 0.0}, kHalfCircumferenceKm / 180, 1e-9},
      {"across the date line", {179.5, 0.0, -179.5, 0.0}, kHalfCircumferenceKm / 180, 1e-6},
      {"pole to pole", {0.0, 90, 0.0, -90}, kHalfCircumferenceKm, 1e-3},
      {"pole to pole by other meridians", {15, 90, -120, -90}, kHalfCircumferenceKm, 1e-3},
      {"antipodes on the equator", {0.0, 0.0, 180, 0.0}, kHalfCircumferenceKm, 1e-3},
      {"one centimetre", {-73.9, 40.7, -73.9, 40.7 + 9e-8}, 1.0007543398e-5, 1e-9},
      {"JFK to Heathrow", {-73.7781, 40.6413, -0.4543, 51.4700}, 5540.0, 5.0},
  };
  return rows;
}

TEST(Kernel, EveryKernelGivesTheKnownDistances) {
  for (const Kernel& kernel : UsableKernels()) {
    for (const KernelRow& row : KnownDistances()) {
      const std::array<const double*, 4> columns = {&row.trip[0], &row.trip[1], &row.trip[2],
                                                    &row.trip[3]};
      double km = -1.0;
      kernel.distances(columns.data(), 1, &km);
      EXPECT_NEAR(km, row.km, row.tolerance_km) << kernel.name << ": " << row.name;
      EXPECT_NEAR(km, static_cast<double>(ReferenceDistanceKm(row.trip)),
                  ToleranceKm(ReferenceDistanceKm(row.trip)))
          << kernel.name << ": " << row.name;
    }
  }
}

// Any number of rows: the vector loops have remainders.
TEST(Kernel, EveryLengthAgreesWithTheReference) {
  const auto source = MakeGenerator(300, 7);
  Batch batch;
  ASSERT_TRUE(*source->Take(batch));
  ASSERT_TRUE(source->Decode(batch));
  for (const Kernel& kernel : UsableKernels()) {
    for (std::size_t count = 0; count <= 70; ++count) {
      Columns trips = batch.trips;
      trips.Resize(count);
      const std::array<const double*, 4> columns = {trips.values[0].data(), trips.values[1].data(),
                                                    trips.values[2].data(), trips.values[3].data()};
      std::vector<double> km(count + 1, -7.0);
      kernel.distances(columns.data(), count, km.data());
      EXPECT_EQ(km[count], -7.0) << "wrote behind the end";
      km.resize(count);
      const CheckReport report = CheckRows(trips, km, count);
      EXPECT_EQ(report.checked, count);
      EXPECT_EQ(report.failed, 0U) << kernel.name << ": " << report.first_failure;
    }
  }
}

#if defined(__x86_64__)
TEST(Kernel, FirstUsableKernelUsesTheProcessorsVectors) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    EXPECT_EQ(UsableKernels().front().name, "portable");
    return;
  }
  EXPECT_THAT(UsableKernels().front().name, testing::StartsWith("x86-64-v"));
}
#endif

TEST(Kernel, LastUsableKernelIsPortable) {
  const auto kernels = UsableKernels();
  ASSERT_FALSE(kernels.empty());
  EXPECT_EQ(kernels.back().name, "portable");
}

TEST(Summarise, CountsEveryDistanceOnce) {
  for (std::size_t count = 0; count < 40; ++count) {
    std::vector<double> km(count);
    std::iota(km.begin(), km.end(), 0.5);
    const Summary summary = Summarise(km);
    EXPECT_EQ(summary.rows, count);
    EXPECT_DOUBLE_EQ(summary.sum_km, static_cast<double>(count * count) / 2.0);
    EXPECT_EQ(summary.max_km, count == 0 ? 0.0 : km.back());
    for (std::size_t bin = 0; bin < kBinCount; ++bin) {
      EXPECT_EQ(summary.bins[bin], bin < count ? 1U : 0U) << bin;
    }
  }
}

TEST(Summarise, BinsAreHalfOpenAndTheLastBinHasNoUpperEnd) {
  const std::vector<double> km = {0.0, std::nextafter(1.0, 0.0), 1.0, 39.999, 40.0, 20015.0};
  const Summary summary = Summarise(km);
  EXPECT_EQ(summary.bins[0], 2U);
  EXPECT_EQ(summary.bins[1], 1U);
  EXPECT_EQ(summary.bins[39], 1U);
  EXPECT_EQ(summary.bins[40], 2U);
}

TEST(CheckRows, FindsAWrongDistance) {
  const auto source = MakeGenerator(1000, 7);
  Batch batch;
  ASSERT_TRUE(*source->Take(batch));
  ASSERT_TRUE(source->Decode(batch));
  Values km;
  auto devices = MakeCpuDevices(1);
  ASSERT_TRUE(devices.devices[0]->Compute(batch.trips, &km));
  EXPECT_EQ(CheckRows(batch.trips, km, 1000).failed, 0U);
  km[500] += 2e-6;
  km[501] = std::numeric_limits<double>::quiet_NaN();
  const CheckReport report = CheckRows(batch.trips, km, 5000);
  EXPECT_EQ(report.checked, 1000U);
  EXPECT_EQ(report.failed, 2U);
  EXPECT_THAT(report.first_failure, testing::HasSubstr("reference"));
  EXPECT_EQ(CheckRows(batch.trips, km, 4).checked, 4U);
}

}  // namespace
}  // namespace berth::haversine

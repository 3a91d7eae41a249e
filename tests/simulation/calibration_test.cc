// Goal: corrected quantiles have their shares, also where the forecasts are wrong, and jobs that
// still wait count as "longer than that". Method: forecasts with known errors, by hand and drawn.
#include "simulation/calibration.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace berth::simulation {
namespace {

using std::chrono::seconds;

constexpr StartQuantiles kForecast{seconds(100), seconds(200), seconds(300)};

TEST(CalibrationTest, FewStartsCorrectNothing) {
  Calibration calibration;
  for (std::size_t i = 1; i < Calibration::kFewestScores; ++i) {
    calibration.Add({kForecast, seconds(9000)});
  }
  EXPECT_EQ(calibration.Of(kForecast), kForecast);
  calibration.Add({kForecast, seconds(9000)});
  EXPECT_NE(calibration.Of(kForecast), kForecast);
}

TEST(CalibrationTest, AForecastThatIsTooEarlyIsMoved) {
  Calibration calibration;
  for (int i = 0; i < 100; ++i) calibration.Add({kForecast, seconds(400 + i)});
  const StartQuantiles made = calibration.Of(kForecast);
  EXPECT_NEAR(std::chrono::duration<double>(made.p10).count(), 409, 2);
  EXPECT_NEAR(std::chrono::duration<double>(made.p50).count(), 449, 2);
  EXPECT_NEAR(std::chrono::duration<double>(made.p90).count(), 489, 2);
  // The correction is in proportion to the range of the forecast.
  const StartQuantiles twice = calibration.Of({seconds(200), seconds(400), seconds(600)});
  EXPECT_NEAR(std::chrono::duration<double>(twice.p50).count(), 898, 4);
}

TEST(CalibrationTest, NoStartIsBeforeTheForecast) {
  Calibration calibration;
  for (int i = 0; i < 100; ++i) calibration.Add({kForecast, seconds(0)});
  EXPECT_EQ(calibration.Of({seconds(1), seconds(20), seconds(500)}).p10, seconds(0));
}

TEST(CalibrationTest, JobsThatStillWaitMoveItFurther) {
  Calibration calibration;
  for (int i = 0; i < 100; ++i) calibration.Add({kForecast, seconds(150 + i)});
  const Duration without = calibration.Of(kForecast).p50;
  calibration.SetWaiting(std::vector<Calibration::Past>(100, {kForecast, seconds(200), false}));
  EXPECT_GT(calibration.Of(kForecast).p50, without);
  calibration.SetWaiting({});
  EXPECT_EQ(calibration.Of(kForecast).p50, without);
}

// Waits are skewed, and three times as long as forecast.
TEST(CalibrationTest, TheSharesAreKept) {
  Random random(7);
  Calibration calibration;
  int within_p50 = 0;
  int within_p90 = 0;
  constexpr int kCounted = 4000;
  for (int i = 0; i < kCounted + 1000; ++i) {
    const Duration median = seconds(60 + static_cast<std::int64_t>(random.Below(10'000)));
    const StartQuantiles raw{median / 2, median, median * 2};
    const double unit = random.Unit();
    const Duration wait(
        static_cast<std::int64_t>(3 * unit * unit * 2 * static_cast<double>(median.count())));
    const StartQuantiles made = calibration.Of(raw);
    if (i >= 1000) {
      within_p50 += wait <= made.p50 ? 1 : 0;
      within_p90 += wait <= made.p90 ? 1 : 0;
    }
    calibration.Add({raw, wait});
  }
  EXPECT_NEAR(within_p50, kCounted * 0.5, kCounted * 0.03);
  EXPECT_NEAR(within_p90, kCounted * 0.9, kCounted * 0.03);
}

}  // namespace
}  // namespace berth::simulation

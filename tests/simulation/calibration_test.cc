// Goal: corrected quantiles have their shares, also where the forecasts are wrong, and jobs that
// still wait count as "longer than that". Method: forecasts with known errors, by hand and drawn.
#include "simulation/calibration.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace berth::simulation {
namespace {

using std::chrono::seconds;

constexpr StartQuantiles kForecast{seconds(100), seconds(200), seconds(300)};

StartQuantiles Corrected(const Calibration& calibration, const StartQuantiles& raw,
                         const ForecastGroup& group = {}) {
  return calibration.Now().Of(group, raw);
}

double SecondsOf(Duration span) { return std::chrono::duration<double>(span).count(); }

TEST(CalibrationTest, FewStartsCorrectNothing) {
  Calibration calibration;
  for (std::size_t i = 1; i < Calibration::kFewestScores; ++i) {
    calibration.Add({kForecast, seconds(9000)});
  }
  EXPECT_EQ(Corrected(calibration, kForecast), kForecast);
  calibration.Add({kForecast, seconds(9000)});
  EXPECT_NE(Corrected(calibration, kForecast), kForecast);
}

TEST(CalibrationTest, AForecastThatIsTooEarlyIsMoved) {
  Calibration calibration;
  for (int i = 0; i < 100; ++i) calibration.Add({kForecast, seconds(400 + i)});
  const StartQuantiles made = Corrected(calibration, kForecast);
  EXPECT_NEAR(std::chrono::duration<double>(made.p10).count(), 409, 2);
  EXPECT_NEAR(std::chrono::duration<double>(made.p50).count(), 449, 2);
  EXPECT_NEAR(std::chrono::duration<double>(made.p90).count(), 489, 2);
  // The correction is in proportion to the range of the forecast.
  const StartQuantiles twice = Corrected(calibration, {seconds(200), seconds(400), seconds(600)});
  EXPECT_NEAR(std::chrono::duration<double>(twice.p50).count(), 898, 4);
}

TEST(CalibrationTest, NoStartIsBeforeTheForecast) {
  Calibration calibration;
  for (int i = 0; i < 100; ++i) calibration.Add({kForecast, seconds(0)});
  EXPECT_EQ(Corrected(calibration, {seconds(1), seconds(20), seconds(500)}).p10, seconds(0));
}

TEST(CalibrationTest, JobsThatStillWaitMoveItFurther) {
  Calibration calibration;
  for (int i = 0; i < 100; ++i) calibration.Add({kForecast, seconds(150 + i)});
  const Duration without = Corrected(calibration, kForecast).p50;
  calibration.SetWaiting(std::vector<Calibration::Past>(100, {kForecast, seconds(200), false}));
  EXPECT_GT(Corrected(calibration, kForecast).p50, without);
  calibration.SetWaiting({});
  EXPECT_EQ(Corrected(calibration, kForecast).p50, without);
}

// Starts of queue `a` are three times as late as the forecast, those of `b` as early as forecast.
TEST(CalibrationTest, AQueueIsCorrectedByItsOwnStarts) {
  Calibration calibration;
  for (int i = 0; i < 100; ++i) {
    calibration.Add({kForecast, seconds(600), true, {.queue = "a"}});
    calibration.Add({kForecast, seconds(200), true, {.queue = "b"}});
  }
  EXPECT_NEAR(SecondsOf(Corrected(calibration, kForecast, {.queue = "a"}).p50), 600, 2);
  EXPECT_NEAR(SecondsOf(Corrected(calibration, kForecast, {.queue = "b"}).p50), 200, 2);
  // A queue without starts is corrected by those of all queues.
  EXPECT_NEAR(SecondsOf(Corrected(calibration, kForecast, {.queue = "c"}).p90), 600, 2);
}

TEST(CalibrationTest, ForecastsAtSubmissionAndLaterOnesAreCorrectedApart) {
  using Made = ForecastGroup::Made;
  Calibration calibration;
  for (int i = 0; i < 100; ++i) {
    calibration.Add({kForecast, seconds(600), true, {"a", Made::kAtSubmission}});
    calibration.Add({kForecast, seconds(220), true, {"a", Made::kLater}});
  }
  EXPECT_NEAR(SecondsOf(Corrected(calibration, kForecast, {"a", Made::kAtSubmission}).p50), 600, 2);
  EXPECT_NEAR(SecondsOf(Corrected(calibration, kForecast, {"a", Made::kLater}).p50), 220, 2);
}

TEST(CalibrationTest, ForecastsOfLongWaitsAreCorrectedApart) {
  constexpr StartQuantiles kLong{std::chrono::hours(10), std::chrono::hours(20),
                                 std::chrono::hours(30)};
  Calibration calibration;
  for (int i = 0; i < 100; ++i) {
    calibration.Add({kForecast, seconds(200), true, {.queue = "a"}});
    calibration.Add({kLong, std::chrono::hours(40), true, {.queue = "a"}});
  }
  EXPECT_NEAR(SecondsOf(Corrected(calibration, kForecast, {.queue = "a"}).p50), 200, 2);
  EXPECT_NEAR(SecondsOf(Corrected(calibration, kLong, {.queue = "a"}).p50), 144'000, 100);
}

TEST(CalibrationTest, AGroupWithFewStartsIsCorrectedByItsQueue) {
  constexpr StartQuantiles kLong{std::chrono::hours(10), std::chrono::hours(20),
                                 std::chrono::hours(30)};
  Calibration calibration;
  for (std::size_t i = 1; i < Calibration::kFewestScores; ++i) {
    calibration.Add({kLong, std::chrono::hours(20), true, {.queue = "a"}});
  }
  for (int i = 0; i < 100; ++i) calibration.Add({kForecast, seconds(400), true, {.queue = "a"}});
  // One range too late, in proportion to the range of the forecast.
  EXPECT_NEAR(SecondsOf(Corrected(calibration, kLong, {.queue = "a"}).p50), 40 * 3600, 200);
}

TEST(CalibrationTest, AJobHasWaitedForHalfAnHourWhenItsForecastIsALaterOne) {
  using Made = ForecastGroup::Made;
  EXPECT_EQ(GroupAt("a", kLaterAge - seconds(1)).made, Made::kAtSubmission);
  EXPECT_EQ(GroupAt("a", kLaterAge).made, Made::kLater);
}

// Waits are skewed, and three times as long as forecast.
TEST(CalibrationTest, TheSharesAreKept) {
  Random random(7);
  Calibration calibration;
  Corrections corrections;
  int within_p50 = 0;
  int within_p90 = 0;
  constexpr int kCounted = 4000;
  for (int i = 0; i < kCounted + 1000; ++i) {
    const Duration median = seconds(60 + static_cast<std::int64_t>(random.Below(10'000)));
    const StartQuantiles raw{median / 2, median, median * 2};
    const double unit = random.Unit();
    const Duration wait(
        static_cast<std::int64_t>(3 * unit * unit * 2 * static_cast<double>(median.count())));
    if (i % 20 == 0) corrections = calibration.Now();
    const StartQuantiles made = corrections.Of({}, raw);
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

// Goal: corrected quantiles have their shares, also where the forecasts are wrong, and jobs that
// still wait count as "longer than that". Method: forecasts with known errors, by hand and drawn.
#include "simulation/calibration.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace berth::simulation {
namespace {

using std::chrono::seconds;

constexpr StartQuantiles kForecast{seconds(100), seconds(200), seconds(300)};

// A past that leaves no doubt in a calibration with these days of doubt.
constexpr double kNoDoubt = 0;
Calibration::Past PastOf(const StartQuantiles& forecast, Duration wait,
                         const ForecastGroup& group = {}, int day = 0) {
  return {
      .at = WallTime(std::chrono::days(day)), .forecast = forecast, .wait = wait, .group = group};
}

StartQuantiles Corrected(const Calibration& calibration, const StartQuantiles& raw,
                         const ForecastGroup& group = {}) {
  return calibration.Now().Of(group, raw);
}

double SecondsOf(Duration span) { return std::chrono::duration<double>(span).count(); }

TEST(CalibrationTest, FewStartsCorrectNoForecast) {
  Calibration calibration(kNoDoubt);
  for (std::size_t i = 1; i < Calibration::kFewestScores; ++i) {
    calibration.Add(PastOf(kForecast, seconds(9000)));
  }
  EXPECT_EQ(Corrected(calibration, kForecast), kForecast);
  calibration.Add(PastOf(kForecast, seconds(9000)));
  EXPECT_NE(Corrected(calibration, kForecast), kForecast);
}

TEST(CalibrationTest, ForecastsThatWereTooEarlyAreMovedInProportion) {
  Calibration calibration(kNoDoubt);
  for (int i = 0; i < 100; ++i) calibration.Add(PastOf(kForecast, seconds(400 + i)));
  const StartQuantiles made = Corrected(calibration, kForecast);
  EXPECT_NEAR(std::chrono::duration<double>(made.p10).count(), 409, 2);
  EXPECT_NEAR(std::chrono::duration<double>(made.p50).count(), 449, 2);
  EXPECT_NEAR(std::chrono::duration<double>(made.p90).count(), 489, 2);
  // The correction is in proportion to the range of the forecast.
  const StartQuantiles twice = Corrected(calibration, {seconds(200), seconds(400), seconds(600)});
  EXPECT_NEAR(std::chrono::duration<double>(twice.p50).count(), 898, 4);
}

TEST(CalibrationTest, CorrectedStartIsNeverInThePast) {
  Calibration calibration(kNoDoubt);
  for (int i = 0; i < 100; ++i) calibration.Add(PastOf(kForecast, seconds(0)));
  EXPECT_EQ(Corrected(calibration, {seconds(1), seconds(20), seconds(500)}).p10, seconds(0));
}

TEST(CalibrationTest, WaitingJobsMoveTheForecastFurther) {
  Calibration calibration(kNoDoubt);
  for (int i = 0; i < 100; ++i) calibration.Add(PastOf(kForecast, seconds(150 + i)));
  Calibration::Past waits = PastOf(kForecast, seconds(200));
  waits.started = false;
  const Duration without = Corrected(calibration, kForecast).p50;
  calibration.SetWaiting(std::vector<Calibration::Past>(100, waits));
  EXPECT_GT(Corrected(calibration, kForecast).p50, without);
  calibration.SetWaiting({});
  EXPECT_EQ(Corrected(calibration, kForecast).p50, without);
}

// Starts of queue `a` are three times as late as the forecast, those of `b` as early as forecast.
TEST(CalibrationTest, AQueueIsCorrectedByItsOwnStarts) {
  Calibration calibration(kNoDoubt);
  for (int i = 0; i < 100; ++i) {
    calibration.Add(PastOf(kForecast, seconds(600), {.queue = "a"}));
    calibration.Add(PastOf(kForecast, seconds(200), {.queue = "b"}));
  }
  EXPECT_NEAR(SecondsOf(Corrected(calibration, kForecast, {.queue = "a"}).p50), 600, 2);
  EXPECT_NEAR(SecondsOf(Corrected(calibration, kForecast, {.queue = "b"}).p50), 200, 2);
  // A queue without starts is corrected by those of all queues.
  EXPECT_NEAR(SecondsOf(Corrected(calibration, kForecast, {.queue = "c"}).p90), 600, 2);
}

TEST(CalibrationTest, ForecastsAtSubmissionAndLaterOnesAreCorrectedApart) {
  using Made = ForecastGroup::Made;
  Calibration calibration(kNoDoubt);
  for (int i = 0; i < 100; ++i) {
    calibration.Add(PastOf(kForecast, seconds(600), {"a", Made::kAtSubmission}));
    calibration.Add(PastOf(kForecast, seconds(220), {"a", Made::kLater}));
  }
  EXPECT_NEAR(SecondsOf(Corrected(calibration, kForecast, {"a", Made::kAtSubmission}).p50), 600, 2);
  EXPECT_NEAR(SecondsOf(Corrected(calibration, kForecast, {"a", Made::kLater}).p50), 220, 2);
}

TEST(CalibrationTest, ForecastsOfLongWaitsAreCorrectedApart) {
  constexpr StartQuantiles kLong{std::chrono::hours(10), std::chrono::hours(20),
                                 std::chrono::hours(30)};
  Calibration calibration(kNoDoubt);
  for (int i = 0; i < 100; ++i) {
    calibration.Add(PastOf(kForecast, seconds(200), {.queue = "a"}));
    calibration.Add(PastOf(kLong, std::chrono::hours(40), {.queue = "a"}));
  }
  EXPECT_NEAR(SecondsOf(Corrected(calibration, kForecast, {.queue = "a"}).p50), 200, 2);
  EXPECT_NEAR(SecondsOf(Corrected(calibration, kLong, {.queue = "a"}).p50), 144'000, 100);
}

TEST(CalibrationTest, AGroupWithFewStartsIsCorrectedByItsQueue) {
  constexpr StartQuantiles kLong{std::chrono::hours(10), std::chrono::hours(20),
                                 std::chrono::hours(30)};
  Calibration calibration(kNoDoubt);
  for (std::size_t i = 1; i < Calibration::kFewestScores; ++i) {
    calibration.Add(PastOf(kLong, std::chrono::hours(20), {.queue = "a"}));
  }
  for (int i = 0; i < 100; ++i) calibration.Add(PastOf(kForecast, seconds(400), {.queue = "a"}));
  // One range too late, in proportion to the range of the forecast.
  EXPECT_NEAR(SecondsOf(Corrected(calibration, kLong, {.queue = "a"}).p50), 40 * 3600, 200);
}

// Five days of starts that are one range too late move the forecast half of the way.
TEST(CalibrationTest, FewDaysOfStartsCorrectAForecastInPart) {
  Calibration calibration;
  const int days = static_cast<int>(Calibration::kDaysOfDoubt);
  for (int i = 0; i < 100; ++i) calibration.Add(PastOf(kForecast, seconds(400), {}, i % days));
  const StartQuantiles made = Corrected(calibration, kForecast);
  EXPECT_NEAR(SecondsOf(made.p10), 250, 1);
  EXPECT_NEAR(SecondsOf(made.p50), 300, 1);
  EXPECT_NEAR(SecondsOf(made.p90), 350, 1);
}

TEST(CalibrationTest, ForecastAfterTheLaterAgeIsALaterOne) {
  using Made = ForecastGroup::Made;
  EXPECT_EQ(GroupAt("a", kLaterAge - seconds(1)).made, Made::kAtSubmission);
  EXPECT_EQ(GroupAt("a", kLaterAge).made, Made::kLater);
}

// Waits are skewed, and three times as long as forecast.
TEST(CalibrationTest, CorrectedQuantilesHoldTheirSharesOfWaits) {
  Random random(7);
  Calibration calibration(kNoDoubt);
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
    calibration.Add(PastOf(raw, wait));
  }
  EXPECT_NEAR(within_p50, kCounted * 0.5, kCounted * 0.03);
  EXPECT_NEAR(within_p90, kCounted * 0.9, kCounted * 0.03);
}

}  // namespace
}  // namespace berth::simulation

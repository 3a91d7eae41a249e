// Goal: jobs to come are those of the past again, at the rate of their queue and hour. Method:
// histories of known rates, means of some hundred draws with fixed seeds.
#include "simulation/arrivals.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "tests/simulation/run_members.h"

namespace berth::simulation {
namespace {

constexpr int kArrivalDraws = 300;

Duration SpanOf(double seconds) { return std::chrono::seconds(std::llround(seconds)); }

Arrivals ArrivalsOf(const RunModel& model, std::int64_t days) {
  return {model, std::vector<bool>(model.members().size(), true), kModelNow - days * kDaySeconds};
}

// The mean number of arrivals in [from, until) seconds.
double MeanIn(const Arrivals& arrivals, double from, double until) {
  double count = 0;
  for (int i = 0; i < kArrivalDraws; ++i) {
    for (const Arrival& each : arrivals.Draw(static_cast<std::uint64_t>(i), SpanOf(until))) {
      count += each.submit >= from && each.submit < until ? 1 : 0;
    }
  }
  return count / kArrivalDraws;
}

TEST(ArrivalsTest, ArrivalRateEqualsThatOfThePast) {
  RunMemberList list;
  for (int i = 0; i < 14 * 12; ++i) list.Ended(KeyOf("train-1"), i * 2 * kHourSeconds + 60, 30);
  const RunModel model = list.Model();
  EXPECT_NEAR(MeanIn(ArrivalsOf(model, 14), 0, 2 * kDaySeconds), 24, 3);
}

TEST(ArrivalsTest, BatchArrivesAsAWhole) {
  RunMemberList list;
  for (int batch = 0; batch < 14 * 4; ++batch) {
    for (int i = 0; i < 5; ++i) {
      list.Ended(KeyOf("train-1"), batch * 6 * kHourSeconds + 3000 - 60 * i, 30);
    }
  }
  const RunModel model = list.Model();
  const auto drawn = ArrivalsOf(model, 14).Draw(3, SpanOf(2.0 * kDaySeconds));
  ASSERT_FALSE(drawn.empty());
  std::map<std::size_t, int> by_batch;
  for (const Arrival& each : drawn) ++by_batch[model.batch_of(each.member)];
  for (const auto& [batch, count] : by_batch) EXPECT_EQ(count % 5, 0);
  EXPECT_TRUE(std::is_sorted(drawn.begin(), drawn.end(),
                             [](const auto& a, const auto& b) { return a.submit < b.submit; }));
}

TEST(ArrivalsTest, ArrivalsFollowHoursAndWeekdaysOfThePast) {
  RunMemberList list;
  // Four weeks: ten jobs at ten o'clock of each weekday.
  for (int day = 1; day <= 28; ++day) {
    const std::int64_t ten =
        kModelNow / kDaySeconds * kDaySeconds - day * kDaySeconds + 10 * kHourSeconds;
    if ((ten / kDaySeconds + 3) % 7 >= 5) continue;
    for (int i = 0; i < 10; ++i) {
      list.Ended(KeyOf("t" + std::to_string(i)), kModelNow - ten - i * 60, 30);
    }
  }
  const RunModel model = list.Model();
  const Arrivals arrivals = ArrivalsOf(model, 28);
  // kModelNow is a Friday at eight o'clock.
  const double day = MeanIn(arrivals, 2.0 * kHourSeconds, 3.0 * kHourSeconds);
  EXPECT_NEAR(day, 10, 3);
  EXPECT_LT(MeanIn(arrivals, 8.0 * kHourSeconds, 10.0 * kHourSeconds), 1);
  EXPECT_LT(MeanIn(arrivals, 26.0 * kHourSeconds, 27.0 * kHourSeconds), day / 3);
}

TEST(ArrivalsTest, RecentArrivalsWeighMore) {
  RunMemberList list;
  for (int i = 0; i < 28 * 4; ++i)
    list.Ended(KeyOf("a"), 28 * kDaySeconds + i * 6 * kHourSeconds, 30);
  for (int i = 0; i < 28 * 12; ++i) list.Ended(KeyOf("b"), i * 2 * kHourSeconds + 60, 30);
  EXPECT_GT(MeanIn(ArrivalsOf(list.Model(), 56), 0, kDaySeconds), 9);  // 8 in the mean of both
}

TEST(ArrivalsTest, ShortPastGivesNoArrivals) {
  RunMemberList list;
  for (int i = 0; i < 4; ++i) list.Ended(KeyOf("train-1"), i * 2 * kHourSeconds + 60, 30);
  EXPECT_TRUE(ArrivalsOf(list.Model(), 1).Draw(1, SpanOf(kDaySeconds)).empty());
  EXPECT_TRUE(Arrivals().Draw(1, SpanOf(kDaySeconds)).empty());
}

TEST(ArrivalsTest, EqualSeedsGiveEqualArrivals) {
  RunMemberList list;
  for (int i = 0; i < 100; ++i) list.Ended(KeyOf("train-1"), i * 2 * kHourSeconds + 60, 30);
  const RunModel model = list.Model();
  const Arrivals arrivals = ArrivalsOf(model, 9);
  const auto text = [](const std::vector<Arrival>& drawn) {
    std::string made;
    for (const Arrival& each : drawn) {
      made += std::to_string(each.member) + "@" + std::to_string(each.submit) + " ";
    }
    return made;
  };
  EXPECT_EQ(text(arrivals.Draw(5, SpanOf(kDaySeconds))),
            text(arrivals.Draw(5, SpanOf(kDaySeconds))));
  EXPECT_NE(text(arrivals.Draw(5, SpanOf(kDaySeconds))),
            text(arrivals.Draw(6, SpanOf(kDaySeconds))));
}

}  // namespace
}  // namespace berth::simulation

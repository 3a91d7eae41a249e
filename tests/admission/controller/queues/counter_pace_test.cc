// Goal: counters in motion are commentary, counters at rest are facts, and none wait for ever.
// Method: instants by hand.
#include "admission/controller/queues/counter_pace.h"

#include <gtest/gtest.h>

namespace berth::admission {
namespace {

using namespace std::chrono_literals;

class CounterPaceTest : public ::testing::Test {
 protected:
  // The wait of counters that have changed since the last question.
  std::optional<Duration> Changed(Duration at) { return Ask(++counters_, at); }
  std::optional<Duration> Unchanged(Duration at) { return Ask(counters_, at); }
  void Written(Duration at) { pace_.OnWrite(key_, SteadyTime{} + at); }

  Duration commentary_{};  // the wait of commentary
  int asked_ = 0;          // for commentary

 private:
  std::optional<Duration> Ask(std::int64_t counters, Duration at) {
    return pace_.Wait(key_, counters, SteadyTime{} + at, [this] {
      ++asked_;
      return commentary_;
    });
  }

  const api::ObjectKey key_{"", "cq"};
  CounterPace pace_;
  std::int64_t counters_ = 0;
};

TEST_F(CounterPaceTest, FirstChangeIsWrittenAtOnce) {
  commentary_ = 1min;
  EXPECT_EQ(Changed(0s), std::nullopt);
  EXPECT_EQ(asked_, 0);
}

TEST_F(CounterPaceTest, ChangingCountersWaitForTheCommentaryBudget) {
  Written(0s);
  EXPECT_EQ(Changed(900ms), 100ms) << "a second after the last write";
  EXPECT_EQ(asked_, 0);
  commentary_ = 300ms;
  EXPECT_EQ(Changed(1s), 300ms);
  commentary_ = 0s;
  EXPECT_EQ(Changed(1300ms), std::nullopt);
  EXPECT_EQ(asked_, 2);
}

TEST_F(CounterPaceTest, UnchangedCountersAreWrittenWithoutTheCommentaryBudget) {
  Written(0s);
  commentary_ = 1min;
  EXPECT_EQ(Changed(1500ms), 1s) << "they are at rest then";
  EXPECT_EQ(Unchanged(2500ms), std::nullopt);
  EXPECT_EQ(asked_, 1);
}

TEST_F(CounterPaceTest, OverdueCountersAreWritten) {
  Written(0s);
  commentary_ = 1min;
  for (Duration at = 1s; at < CounterPace::kOverdue; at += 500ms)
    EXPECT_NE(Changed(at), std::nullopt);
  EXPECT_EQ(Changed(CounterPace::kOverdue), std::nullopt);
}

}  // namespace
}  // namespace berth::admission

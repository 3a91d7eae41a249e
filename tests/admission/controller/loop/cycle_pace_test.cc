// Goal: cycles run back to back while they change something and at growing intervals while they do
// not; wake-ups are batched, for less time where nobody has more right to room
// than others. Method: a scripted scheduler
// in virtual time.

#include "admission/controller/loop/cycle_pace.h"

#include <gtest/gtest.h>

#include "scenarios/world/sim_executor.h"

namespace berth::admission {
namespace {

using namespace std::chrono_literals;
using Progress = CyclePace::Progress;

class CyclePaceTest : public ::testing::Test {
 protected:
  CyclePace::Work Work() {
    return {.may_run = [this] { return heads_ > 0 && may_run_; },
            .has_heads = [this] { return heads_ > 0; },
            .run_cycle =
                [this] {
                  cycles_.push_back(clock_.SteadyNow() - start_);
                  heads_ -= progress_ == Progress::kSome ? 1 : 0;
                  return progress_;
                },
            .has_wake_ups = [this] { return wake_ups_ > 0; },
            .run_wake_ups =
                [this] {
                  batches_.push_back(clock_.SteadyNow() - start_);
                  wake_ups_ = 0;
                }};
  }
  // From now on instants count from here.
  void Begin() {
    start_ = clock_.SteadyNow();
    cycles_.clear();
    batches_.clear();
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  int heads_ = 0;
  int wake_ups_ = 0;
  bool may_run_ = true;
  Progress progress_ = Progress::kSome;
  SteadyTime start_ = clock_.SteadyNow();
  std::vector<Duration> cycles_;
  std::vector<Duration> batches_;
  CyclePace pace_{executor_, clock_, 1s, Work()};
};

TEST_F(CyclePaceTest, NothingRunsBeforeTheStartOrAfterTheStop) {
  heads_ = wake_ups_ = 1;
  pace_.OnChange();
  executor_.RunFor(1min);
  EXPECT_TRUE(cycles_.empty() && batches_.empty());
  pace_.Start();
  pace_.OnChange();
  pace_.Stop();
  executor_.RunFor(1min);
  EXPECT_TRUE(cycles_.empty() && batches_.empty());
}

TEST_F(CyclePaceTest, CyclesThatChangeSomethingRunBackToBack) {
  heads_ = 100;
  pace_.Start();
  pace_.OnChange();
  executor_.RunFor(1ms);
  EXPECT_EQ(cycles_.size(), 100U);
  EXPECT_FALSE(pace_.repeats());
}

TEST_F(CyclePaceTest, APauseDoublesAndEndsWithTheNextChange) {
  heads_ = 1;
  progress_ = Progress::kNone;
  pace_.Start();
  pace_.OnChange();
  executor_.RunFor(1500ms);
  EXPECT_EQ(cycles_, (std::vector<Duration>{0ms, 1ms, 3ms, 7ms, 15ms, 31ms, 63ms, 127ms, 255ms,
                                            511ms, 1023ms}));
  EXPECT_TRUE(pace_.repeats());
  EXPECT_TRUE(pace_.at_rest());
  Begin();
  pace_.OnChange();
  executor_.RunFor(2ms);
  EXPECT_EQ(cycles_, (std::vector<Duration>{0ms, 1ms}));
}

TEST_F(CyclePaceTest, ACycleThatMayNotRunWaitsForAKick) {
  heads_ = 1;
  may_run_ = false;
  pace_.Start();
  pace_.OnChange();
  executor_.RunFor(1min);
  EXPECT_TRUE(cycles_.empty());
  may_run_ = true;
  pace_.Kick();
  executor_.RunFor(1ms);
  EXPECT_EQ(cycles_.size(), 1U);
}

TEST_F(CyclePaceTest, WakeUpsAreBatched) {
  pace_.Start();
  pace_.NotePreemption();
  Begin();
  for (int i = 0; i < 25; ++i) {
    ++wake_ups_;
    pace_.OnChange();
    executor_.RunFor(100ms);
  }
  EXPECT_EQ(batches_, (std::vector<Duration>{1s, 2s}));
}

TEST_F(CyclePaceTest, TheFirstBatchIsShort) {
  pace_.Start();
  ++wake_ups_;
  pace_.OnChange();
  executor_.RunFor(100ms);
  EXPECT_EQ(batches_, (std::vector<Duration>{CyclePace::kLoneBatch}));
}

// One that follows another waits for those that come with it.
TEST_F(CyclePaceTest, BatchesInCalmTimesAreApart) {
  pace_.Start();
  for (int i = 0; i < 12; ++i) {
    ++wake_ups_;
    pace_.OnChange();
    executor_.RunFor(10ms);
  }
  EXPECT_EQ(batches_, (std::vector<Duration>{5ms, 55ms, 105ms}));
}

TEST_F(CyclePaceTest, WithoutPreemptionsTheBatchIsShort) {
  pace_.Start();
  pace_.NotePreemption();
  executor_.RunFor(CyclePace::kCalm);
  Begin();
  ++wake_ups_;
  pace_.OnChange();
  executor_.RunFor(100ms);
  EXPECT_EQ(batches_, (std::vector<Duration>{CyclePace::kLoneBatch}));
  pace_.NotePreemption();
  ++wake_ups_;
  pace_.OnChange();
  executor_.RunFor(900ms);
  EXPECT_EQ(batches_.size(), 1U);
}

// Plans the latest batch, where the last workload of `priorities` has just come.
TEST_F(CyclePaceTest, RecentHigherPrioritiesShortenTheBatch) {
  struct Row {
    const char* name;
    std::vector<std::pair<Duration, std::int32_t>> arrivals;  // after a pause
    Duration batch;
  };
  const std::vector<Row> rows = {
      {"equals", {{0s, 5}, {1s, 5}, {1s, 5}}, CyclePace::kLoneBatch},
      {"a higher one", {{0s, 5}, {1s, 6}}, 1s},
      {"a lower one", {{0s, 5}, {1s, 4}}, CyclePace::kLoneBatch},
      {"a higher one, a while ago",
       {{0s, 5}, {1s, 6}, {CyclePace::kCalm, 5}},
       CyclePace::kLoneBatch},
      {"the lower ones are minutes old",
       {{0s, 5}, {61s, 6}, {61s, 6}, {61s, 6}},
       CyclePace::kLoneBatch},
  };
  for (const Row& row : rows) {
    CyclePace pace(executor_, clock_, 1s, Work());
    pace.Start();
    executor_.RunFor(CyclePace::kCalm);
    for (const auto& [pause, priority] : row.arrivals) {
      executor_.RunFor(pause);
      pace.NoteArrival(priority);
    }
    Begin();
    ++wake_ups_;
    pace.OnChange();
    executor_.RunFor(2s);
    EXPECT_EQ(batches_, std::vector<Duration>{row.batch}) << row.name;
  }
}

TEST_F(CyclePaceTest, TimerOfADestroyedPaceRunsNothing) {
  auto owned = std::make_unique<CyclePace>(executor_, clock_, 1s, Work());
  heads_ = wake_ups_ = 1;
  owned->Start();
  owned->OnChange();
  owned.reset();
  executor_.RunFor(2s);
  EXPECT_TRUE(cycles_.empty() && batches_.empty());
}

}  // namespace
}  // namespace berth::admission

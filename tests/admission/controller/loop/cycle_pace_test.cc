// Goal: cycles run back to back while they change something and at growing intervals while they do
// not; wake-ups are batched, for a longer time those of workloads that others soon preempt.
// Method: a scripted scheduler in virtual time.

#include "admission/controller/loop/cycle_pace.h"

#include <gtest/gtest.h>

#include "queue/ordering.h"
#include "scenarios/world/sim_executor.h"

namespace berth::admission {
namespace {

using namespace std::chrono_literals;
using Progress = CyclePace::Progress;

constexpr std::int64_t kAll = queue::kEveryPriority;

class CyclePaceTest : public ::testing::Test {
 protected:
  struct Batch {
    Duration at;
    std::int64_t from = kAll;
    friend bool operator==(const Batch&, const Batch&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Batch& batch) {
      return out << batch.at / 1ms << " ms from " << batch.from;
    }
  };
  using Batches = std::vector<Batch>;

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
            .has_new_wake_ups = [this] { return new_wake_ups_ > 0; },
            .run_wake_ups =
                [this](std::int64_t from) {
                  batches_.push_back({clock_.SteadyNow() - start_, from});
                  new_wake_ups_ = 0;
                  if (from == kAll) wake_ups_ = 0;
                }};
  }
  void Request() {
    ++wake_ups_;
    ++new_wake_ups_;
    pace_.OnChange();
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
  int new_wake_ups_ = 0;  // since the last batch
  bool may_run_ = true;
  Progress progress_ = Progress::kSome;
  SteadyTime start_ = clock_.SteadyNow();
  std::vector<Duration> cycles_;
  Batches batches_;
  CyclePace pace_{executor_, clock_, 1s, Work()};
};

TEST_F(CyclePaceTest, NothingRunsBeforeTheStartOrAfterTheStop) {
  heads_ = 1;
  Request();
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

// At once from the highest contender's priority on; for the others once a second.
TEST_F(CyclePaceTest, WakeUpsBelowThoseWithMoreRightAreBatched) {
  pace_.Start();
  pace_.NotePreemption(7);
  Begin();
  for (int i = 0; i < 13; ++i) {
    Request();
    executor_.RunFor(200ms);
  }
  EXPECT_EQ(batches_, (Batches{{5ms, 7},
                               {205ms, 7},
                               {405ms, 7},
                               {605ms, 7},
                               {805ms, 7},
                               {1s},
                               {1050ms, 7},
                               {1205ms, 7},
                               {1405ms, 7},
                               {1605ms, 7},
                               {1805ms, 7},
                               {2s},
                               {2050ms, 7},
                               {2205ms, 7},
                               {2405ms, 7}}));
}

TEST_F(CyclePaceTest, ALoneWakeUpRunsSoon) {
  pace_.Start();
  Request();
  executor_.RunFor(2s);
  EXPECT_EQ(batches_, (Batches{{CyclePace::kLoneBatch}}));
}

// One that follows another waits for those that come with it.
TEST_F(CyclePaceTest, WakeUpsAreApart) {
  pace_.Start();
  for (int i = 0; i < 12; ++i) {
    Request();
    executor_.RunFor(10ms);
  }
  EXPECT_EQ(batches_, (Batches{{5ms}, {55ms}, {105ms}}));
}

TEST_F(CyclePaceTest, WithoutPreemptionsTheBatchIsShort) {
  pace_.Start();
  pace_.NotePreemption(7);
  executor_.RunFor(CyclePace::kCalm);
  Begin();
  Request();
  executor_.RunFor(100ms);
  EXPECT_EQ(batches_, (Batches{{CyclePace::kLoneBatch}}));
}

// The batch of a second begins with its own first request.
TEST_F(CyclePaceTest, ABatchThatRanEarlyLeavesNoTimer) {
  pace_.Start();
  Request();
  executor_.RunFor(500ms);
  pace_.NotePreemption(7);
  Begin();
  Request();
  executor_.RunFor(1500ms);
  EXPECT_EQ(batches_, (Batches{{5ms, 7}, {1s}}));
}

TEST_F(CyclePaceTest, ContendersAreForgotten) {
  pace_.Start();
  executor_.RunFor(1h);
  pace_.NotePreemption(9);
  executor_.RunFor(CyclePace::kCalm - 1ms);
  pace_.NotePreemption(7);
  executor_.RunFor(CyclePace::kCalm - 20ms);
  Begin();
  Request();
  executor_.RunFor(10ms);
  EXPECT_EQ(batches_, (Batches{{5ms, 9}}));
  executor_.RunFor(2s);
  pace_.NotePreemption(7);
  Begin();
  Request();
  executor_.RunFor(10ms);
  EXPECT_EQ(batches_, (Batches{{5ms, 7}}));
}

// The first batch, where the last workload of `priorities` has just come.
TEST_F(CyclePaceTest, ArrivalsOfHigherPrioritiesAreContenders) {
  struct Row {
    const char* name;
    std::vector<std::pair<Duration, std::int32_t>> arrivals;  // after a pause
    std::int64_t from;
  };
  const std::vector<Row> rows = {
      {"equals", {{0s, 5}, {1s, 5}, {1s, 5}}, kAll},
      {"a higher one", {{0s, 5}, {1s, 6}}, 6},
      {"a lower one", {{0s, 5}, {1s, 4}}, kAll},
      {"higher ones", {{0s, 5}, {1s, 8}, {1s, 6}, {1s, 5}}, 8},
      {"a higher one, a while ago", {{0s, 5}, {1s, 6}, {CyclePace::kCalm, 5}}, kAll},
      {"the lower ones are minutes old", {{0s, 5}, {61s, 6}, {61s, 6}, {61s, 6}}, kAll},
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
    wake_ups_ = new_wake_ups_ = 1;
    pace.OnChange();
    executor_.RunFor(10ms);
    EXPECT_EQ(batches_, (Batches{{CyclePace::kLoneBatch, row.from}})) << row.name;
  }
}

TEST_F(CyclePaceTest, TimerOfADestroyedPaceRunsNothing) {
  auto owned = std::make_unique<CyclePace>(executor_, clock_, 1s, Work());
  heads_ = wake_ups_ = new_wake_ups_ = 1;
  owned->Start();
  owned->OnChange();
  owned.reset();
  executor_.RunFor(2s);
  EXPECT_TRUE(cycles_.empty() && batches_.empty());
}

}  // namespace
}  // namespace berth::admission

// Goal: the pool runs a few works at a time, all in the end, and more while some wait. Method:
// works wait at gates that the test opens.
#include "local/apiserver/http/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>

#include <gtest/gtest.h>

namespace berth::local {
namespace {

constexpr std::chrono::seconds kPatience{20};

// Counts arrivals, and blocks them until it is opened.
class Gate {
 public:
  void Pass() {
    std::unique_lock lock(mutex_);
    ++inside_;
    most_ = std::max(most_, inside_);
    ++come_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --inside_;
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool WaitForCome(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return come_ >= count; });
  }
  int come() {
    const std::lock_guard lock(mutex_);
    return come_;
  }
  int most() {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  int most_ = 0;
  int come_ = 0;
  bool open_ = false;
};

TEST(WorkerPoolTest, ThrowingTaskEndsNoThread) {
  WorkerPool pool({.threads = 1, .running = 1, .waiting = 100});
  std::promise<void> done;
  ASSERT_TRUE(pool.Post([] { throw std::runtime_error("planted"); }));
  ASSERT_TRUE(pool.Post([&] { done.set_value(); }));
  EXPECT_EQ(done.get_future().wait_for(kPatience), std::future_status::ready);
}

TEST(WorkerPoolTest, RunsAtMostTheLimitOfTasksAtOnce) {
  Gate gate;
  WorkerPool pool({.threads = 16, .running = 3, .waiting = 100});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(pool.Post([&] { gate.Pass(); }));
  ASSERT_TRUE(gate.WaitForCome(3));
  EXPECT_EQ(gate.come(), 3);
  gate.Open();
  ASSERT_TRUE(gate.WaitForCome(20));
  EXPECT_LE(gate.most(), 3);
}

TEST(WorkerPoolTest, TasksOfUsersAlternate) {
  Gate gate;
  std::string order;
  std::promise<void> done;
  WorkerPool pool({.threads = 1, .running = 1, .waiting = 100});
  ASSERT_TRUE(pool.Post([&] { gate.Pass(); }));
  ASSERT_TRUE(gate.WaitForCome(1));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(pool.Post([&] { order += 'a'; }, "a"));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pool.Post([&] { order += 'b'; }, "b"));
  ASSERT_TRUE(pool.Post([&] { order += 'c'; }, "c"));
  ASSERT_TRUE(pool.Post([&] { done.set_value(); }, "a"));
  gate.Open();
  ASSERT_EQ(done.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(order, "abcabaa");
}

TEST(WorkerPoolTest, OneUserCannotFillTheQueue) {
  Gate gate;
  WorkerPool pool({.threads = 1, .running = 1, .waiting = 8});
  ASSERT_TRUE(pool.Post([&] { gate.Pass(); }));
  ASSERT_TRUE(gate.WaitForCome(1));
  int posted = 0;
  while (pool.Post([] {}, "a")) ++posted;
  EXPECT_EQ(posted, 6);
  EXPECT_TRUE(pool.Post([] {}, "b"));
  gate.Open();
}

// The works of "a" wait for a webhook that does not answer.
TEST(WorkerPoolTest, BlockedTasksOfOneUserLeaveThreadsToOthers) {
  Gate waits;
  std::promise<void> done;
  WorkerPool pool({.threads = 8, .running = 2, .waiting = 100});
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(pool.Post(
        [&] {
          const BlockingScope blocking;
          waits.Pass();
        },
        "a"));
  }
  ASSERT_TRUE(waits.WaitForCome(6));  // three times the two that are free
  ASSERT_TRUE(pool.Post([&] { done.set_value(); }, "b"));
  EXPECT_EQ(done.get_future().wait_for(kPatience), std::future_status::ready);
  waits.Open();
  std::promise<void> last;
  ASSERT_TRUE(pool.Post([&] { last.set_value(); }, "a"));
  EXPECT_EQ(last.get_future().wait_for(kPatience), std::future_status::ready);
}

TEST(WorkerPoolTest, OtherTasksRunInPlaceOfBlockedTasks) {
  Gate waits;
  Gate works;
  WorkerPool pool({.threads = 16, .running = 2, .waiting = 100});
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(pool.Post([&] {
      const BlockingScope blocking;
      waits.Pass();
    }));
  }
  // All ten wait, and two more run beside them.
  ASSERT_TRUE(waits.WaitForCome(10));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pool.Post([&] { works.Pass(); }));
  ASSERT_TRUE(works.WaitForCome(2));
  waits.Open();
  works.Open();
}

TEST(WorkerPoolTest, TaskMayWaitForTasksOfTheSamePool) {
  // A webhook whose server asks this API server calls it as deep as there are threads.
  WorkerPool pool({.threads = 8, .running = 1, .waiting = 100});
  std::function<void(int)> descend = [&](int depth) {
    if (depth == 0) return;
    // Shared: the waiting thread may go on before the promise is done.
    const auto done = std::make_shared<std::promise<void>>();
    ASSERT_TRUE(pool.Post([&descend, done, depth] {
      descend(depth - 1);
      done->set_value();
    }));
    const BlockingScope blocking;
    done->get_future().wait();
  };
  std::promise<void> done;
  ASSERT_TRUE(pool.Post([&] {
    descend(7);
    done.set_value();
  }));
  EXPECT_EQ(done.get_future().wait_for(kPatience), std::future_status::ready);
}

TEST(WorkerPoolTest, TasksOfManyThreadsAllRun) {
  constexpr int kPosters = 4;
  constexpr int kPieces = 5000;
  std::atomic<int> run{0};
  std::promise<void> all;
  WorkerPool pool({.threads = 8, .running = 2, .waiting = kPosters * kPieces});
  std::vector<std::thread> posters;
  for (int p = 0; p < kPosters; ++p) {
    posters.emplace_back([&] {
      for (int i = 0; i < kPieces; ++i) {
        const bool waits = i % 7 == 0;
        pool.Post([&, waits] {
          if (waits) {
            const BlockingScope blocking;
            std::this_thread::yield();
          }
          if (run.fetch_add(1) + 1 == kPosters * kPieces) all.set_value();
        });
      }
    });
  }
  for (std::thread& poster : posters) poster.join();
  EXPECT_EQ(all.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(run.load(), kPosters * kPieces);
}

TEST(WorkerPoolTest, RefusesTasksOfAFullOrStoppedPool) {
  Gate gate;
  WorkerPool pool({.threads = 1, .running = 1, .waiting = 2});
  ASSERT_TRUE(pool.Post([&] { gate.Pass(); }));
  ASSERT_TRUE(gate.WaitForCome(1));
  EXPECT_TRUE(pool.Post([] {}));
  EXPECT_TRUE(pool.Post([] {}));
  EXPECT_FALSE(pool.Post([] {}));
  gate.Open();
  pool.Stop();
  EXPECT_FALSE(pool.Post([] {}));
}

}  // namespace
}  // namespace berth::local

// Goal: an exception of a task ends this task, never the thread or the process, except where a
// thread cannot go on.
// Method: planted exceptions of both kinds; the next task must run. The end of a process is watched
// from its parent (death test).
#include <chrono>
#include <future>
#include <stdexcept>

#include <gtest/gtest.h>

#include "base/threads/guarded.h"
#include "base/threads/thread_executor.h"

namespace berth {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);

TEST(GuardedTest, TaskThatThrowsIsReportedAndLogged) {
  EXPECT_TRUE(RunGuarded("unused", [] {}));
  testing::internal::CaptureStderr();
  EXPECT_FALSE(RunGuarded("the first failed", [] { throw std::runtime_error("planted"); }));
  EXPECT_FALSE(RunGuarded("the second failed", [] { throw 7; }));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("the first failed error=planted"), std::string::npos) << log;
  EXPECT_NE(log.find("the second failed error=\"not a std::exception\""), std::string::npos) << log;
}

TEST(GuardedDeathTest, ThreadThatThrowsEndsTheProcessWithALogLine) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      StartThread("the planted thread failed", [] { throw std::runtime_error("planted"); }).join(),
      "the planted thread failed error=planted");
}

TEST(ThreadExecutorTest, TaskThatThrowsEndsNoThread) {
  ThreadExecutor executor;
  std::promise<void> next;
  std::promise<void> later;
  executor.Post([] { throw std::runtime_error("planted"); });
  executor.Post([] { throw 7; });
  executor.Post([&] { next.set_value(); });
  executor.PostAfter(std::chrono::milliseconds(1), [] { throw std::runtime_error("planted"); });
  executor.PostAfter(std::chrono::milliseconds(1), [&] { later.set_value(); });
  EXPECT_EQ(next.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(later.get_future().wait_for(kPatience), std::future_status::ready);
  executor.Stop();
}

}  // namespace
}  // namespace berth

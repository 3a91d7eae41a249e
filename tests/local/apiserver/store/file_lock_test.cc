// Goal: one process at a time has the lock, and a process that is killed during a fork leaves it to
// the next.
#include "local/apiserver/store/file_lock.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/local/apiserver/store/temp_folder.h"

namespace berth::local {
namespace {

using ::testing::HasSubstr;

TEST(FileLockTest, ErrorNamesTheHolderOfTheLock) {
  const TempFolder folder;
  const std::string path = folder.File("lock");
  {
    const auto first = FileLock::Acquire(path);
    ASSERT_TRUE(first) << first.error().message;
    const auto second = FileLock::Acquire(path);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(second.error().message,
                HasSubstr("is locked: process " + std::to_string(::getpid()) + " works with"));
  }
  EXPECT_TRUE(FileLock::Acquire(path));
}

// Takes the lock and ends without releasing it; its child has it until `gate` is closed.
[[noreturn]] void LeaveTheLockToAChild(const std::string& path, const int (&gate)[2]) {
  const auto lock = FileLock::Acquire(path);
  if (!lock) ::_exit(3);
  if (::fork() == 0) {
    ::close(gate[1]);
    char none = 0;
    while (::read(gate[0], &none, 1) > 0) {
    }
  }
  ::_exit(0);
}

TEST(FileLockTest, LockWaitsForAChildThatIsStillEnding) {
  const TempFolder folder;
  const std::string path = folder.File("lock");
  int gate[2] = {};
  ASSERT_EQ(::pipe(gate), 0);
  const pid_t first = ::fork();
  if (first == 0) LeaveTheLockToAChild(path, gate);
  int status = 0;
  ASSERT_EQ(::waitpid(first, &status, 0), first);
  ASSERT_EQ(status, 0);
  bool locked = false;
  std::thread next([&] { locked = FileLock::Acquire(path).has_value(); });
  ::close(gate[1]);
  next.join();
  EXPECT_TRUE(locked);
  ::close(gate[0]);
}

}  // namespace
}  // namespace berth::local

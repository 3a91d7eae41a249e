#include "local/apiserver/store/file_lock.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/strings.h"

namespace berth::local {
namespace {

constexpr auto kLookAgain = std::chrono::milliseconds(5);
constexpr auto kLongestEnd = std::chrono::seconds(2);

// The process that last wrote its number to the file.
std::optional<pid_t> HolderOf(int descriptor) {
  char text[32] = {};
  const ssize_t size = ::pread(descriptor, text, sizeof text - 1, 0);
  if (size <= 0) return std::nullopt;
  const auto number = ParseInt64(TrimSpace(std::string_view(text, static_cast<size_t>(size))));
  if (!number || *number <= 0) return std::nullopt;
  return static_cast<pid_t>(*number);
}

bool IsGone(std::optional<pid_t> process) {
  return process && ::kill(*process, 0) != 0 && errno == ESRCH;
}

// A process killed right after a fork leaves the lock to its child for a moment, until the kernel
// ends the child.
bool LockWhenChildrenAreGone(int descriptor) {
  const auto give_up = std::chrono::steady_clock::now() + kLongestEnd;
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (!IsGone(HolderOf(descriptor)) || std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(kLookAgain);
  }
  return true;
}

}  // namespace

Result<FileLock> FileLock::Acquire(const std::string& path) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the POSIX call
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    return Error{ErrorCode::kUnavailable, "cannot write " + path + ": " + std::strerror(errno) +
                                              "; choose another data directory"};
  }
  FileLock lock(descriptor);
  if (!LockWhenChildrenAreGone(descriptor)) {
    const std::optional<pid_t> holder = HolderOf(descriptor);
    return Error{ErrorCode::kUnavailable,
                 path + " is locked: process " + (holder ? std::to_string(*holder) : "?") +
                     " works with this data directory; stop it or choose another one"};
  }
  const std::string process = std::to_string(::getpid()) + "\n";
  if (::ftruncate(descriptor, 0) != 0 ||
      ::pwrite(descriptor, process.data(), process.size(), 0) < 0) {
    return Error{ErrorCode::kUnavailable, "cannot write " + path + ": " + std::strerror(errno)};
  }
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace berth::local

#include "local/apiserver/store/file_lock.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/strings.h"

namespace berth::local {

Result<FileLock> FileLock::Acquire(const std::string& path) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the POSIX call
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    return Error{ErrorCode::kUnavailable, "cannot write " + path + ": " + std::strerror(errno) +
                                              "; choose another data directory"};
  }
  FileLock lock(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    char holder[32] = {};
    const ssize_t size = ::pread(descriptor, holder, sizeof holder - 1, 0);
    const std::string_view process =
        size > 0 ? TrimSpace(std::string_view(holder, static_cast<std::size_t>(size))) : "";
    return Error{ErrorCode::kUnavailable,
                 path + " is locked: process " +
                     (process.empty() ? std::string("?") : std::string(process)) +
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

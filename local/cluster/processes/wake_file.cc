#include "local/cluster/processes/wake_file.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

namespace berth::local::cluster {

Result<WakeFile> WakeFile::Make() {
  const int file = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (file < 0) {
    return Error{ErrorCode::kUnavailable, std::string("eventfd: ") + std::strerror(errno)};
  }
  return WakeFile(file);
}

WakeFile::WakeFile(WakeFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

WakeFile::~WakeFile() {
  if (file_ >= 0) close(file_);
}

void WakeFile::Wake() const {
  const std::uint64_t one = 1;
  while (write(file_, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void WakeFile::Clear() const {
  std::uint64_t count = 0;
  while (read(file_, &count, sizeof count) < 0 && errno == EINTR) {
  }
}

}  // namespace berth::local::cluster

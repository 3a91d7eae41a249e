#include "jobs/haversine/output_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::haversine {
namespace {

Error Failed(const std::string& path, const char* what) {
  return Error{ErrorCode::kUnavailable,
               path + ": " + what + ": " + std::generic_category().message(errno)};
}

std::string PartOf(const std::string& path) { return path + ".part"; }

}  // namespace

Result<OutputFile> OutputFile::Create(const std::string& path) {
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    return Error{ErrorCode::kInvalid, path + ": is there and is not a regular file"};
  }
  const int descriptor =
      ::open(PartOf(path).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return Failed(path, "cannot be created");
  return OutputFile(path, descriptor);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      end_(other.end_) {}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(PartOf(path_).c_str());
}

Status OutputFile::WriteAt(std::uint64_t offset, std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed(path_, "cannot be written");
    offset += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  end_ = std::max(end_, offset);
  return OkStatus();
}

Status OutputFile::Finish() {
  const int descriptor = std::exchange(descriptor_, -1);
  // Some file systems report a full disk in fsync only.
  const bool whole = ::fsync(descriptor) == 0 || errno == EINVAL;
  if (::close(descriptor) != 0 || !whole) {
    const Error error = Failed(path_, "cannot be written");
    ::unlink(PartOf(path_).c_str());
    return error;
  }
  if (std::rename(PartOf(path_).c_str(), path_.c_str()) != 0) {
    return Failed(path_, "cannot be renamed from its .part");
  }
  return OkStatus();
}

}  // namespace berth::haversine

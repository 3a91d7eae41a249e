#include "jobs/haversine/range_reader.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::haversine {
namespace {

std::string Reason(int error_number) { return std::generic_category().message(error_number); }

class FileReader : public RangeReader {
 public:
  FileReader(std::string path, int descriptor, std::uint64_t size)
      : path_(std::move(path)), descriptor_(descriptor), size_(size) {}
  ~FileReader() override { ::close(descriptor_); }
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  const std::string& name() const override { return path_; }
  std::uint64_t size() const override { return size_; }

  Status ReadAt(std::uint64_t offset, std::span<char> bytes) override {
    while (!bytes.empty()) {
      const ssize_t got =
          ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        return Error{ErrorCode::kUnavailable,
                     path_ + ": reading at byte " + std::to_string(offset) + ": " + Reason(errno)};
      }
      if (got == 0) {
        return Error{ErrorCode::kUnavailable, path_ + ": ends at byte " + std::to_string(offset) +
                                                  ", before the " + std::to_string(size_) +
                                                  " bytes that it had when it was opened"};
      }
      offset += static_cast<std::uint64_t>(got);
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
    return OkStatus();
  }

 private:
  std::string path_;
  int descriptor_;
  std::uint64_t size_;
};

}  // namespace

Result<std::unique_ptr<RangeReader>> OpenFile(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kForbidden;
    return Error{code, path + ": " + Reason(errno)};
  }
  struct stat status {};
  const bool known = ::fstat(descriptor, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return Error{ErrorCode::kInvalid, path + ": is not a regular file"};
  }
  if (status.st_size == 0) {
    ::close(descriptor);
    return Error{ErrorCode::kInvalid, path + ": is empty"};
  }
  return std::unique_ptr<RangeReader>(
      std::make_unique<FileReader>(path, descriptor, static_cast<std::uint64_t>(status.st_size)));
}

}  // namespace berth::haversine

// jobs/haversine/output_file.h — a file that gets its name only when it is complete.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace berth::haversine {

// Written as NAME.part and renamed by Finish; without Finish the part is removed.
// Errors: messages begin with the name. A device or a folder is never replaced.
class OutputFile {
 public:
  static Result<OutputFile> Create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  Status Append(std::span<const char> bytes) { return WriteAt(end_, bytes); }
  Status WriteAt(std::uint64_t offset, std::span<const char> bytes);
  Status Finish();

 private:
  OutputFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t end_ = 0;  // end of the bytes written by Append or WriteAt
};

}  // namespace berth::haversine

// jobs/haversine/range_reader.h — reads bytes at any offset of a file or of an object in a store.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace berth::haversine {

// Threads: ReadAt and Cancel may be called from any thread, concurrently. Errors: every
// message begins with the name. kNotFound, kForbidden; kUnavailable after the reader's
// retries.
class RangeReader {
 public:
  virtual ~RangeReader() = default;
  virtual const std::string& name() const = 0;  // a path or a URL
  virtual std::uint64_t size() const = 0;       // bytes
  // Fills all of `bytes`; offset + bytes.size() ≤ size().
  virtual Status ReadAt(std::uint64_t offset, std::span<char> bytes) = 0;
  // Makes waiting and later reads fail.
  virtual void Cancel() {}
};

// Opens a regular file of at least one byte.
Result<std::unique_ptr<RangeReader>> OpenFile(const std::string& path);

}  // namespace berth::haversine

// local/images/image_errors.h — the errors of this folder's files.
//
// Threads: pure, but for errno.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/result.h"

namespace berth::local::images {

inline Error RefuseImage(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

// The error of the last system call: a name that no file can have is the image's fault.
inline Error SystemFailure(const std::string& what) {
  const bool is_image = errno == ENAMETOOLONG || errno == ELOOP || errno == EINVAL;
  return {is_image ? ErrorCode::kInvalid : ErrorCode::kUnavailable,
          what + ": " + std::strerror(errno)};
}

}  // namespace berth::local::images

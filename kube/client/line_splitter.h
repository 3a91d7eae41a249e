// kube/client/line_splitter.h — splits a byte stream into lines of bounded length.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace berth::kube {

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t max_line_bytes) : max_line_bytes_(max_line_bytes) {}

  // Calls `on_line` for each line that `bytes` completes, without its end; skips lines of blanks.
  // Errors: kInvalid: a line is longer than the limit.
  template <typename Fn>
  Status Feed(std::string_view bytes, Fn on_line) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      if (rest_.size() + std::min(end, bytes.size()) > max_line_bytes_) {
        return Error{ErrorCode::kInvalid, "a line of the watch is longer than " +
                                              std::to_string(max_line_bytes_) + " bytes"};
      }
      if (end == std::string_view::npos) {
        rest_ += bytes;
        break;
      }
      rest_ += bytes.substr(0, end);
      bytes.remove_prefix(end + 1);
      if (rest_.find_first_not_of(" \t\r") != std::string::npos) on_line(std::as_const(rest_));
      rest_.clear();
    }
    return OkStatus();
  }

 private:
  std::size_t max_line_bytes_;
  std::string rest_;
};

}  // namespace berth::kube

// local/cluster/processes/log_stamps.h — puts the time before each line of a log, as kubectl logs
// --timestamps shows it.
//
// Threads: none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace berth::local::cluster {

// "2026-11-20T07:03:22.589518000Z": always 30 characters.
std::string LogStamp(WallTime time);

class LogStamps {
 public:
  // `time_at` returns the time of a byte of the log; it is called with rising offsets.
  using TimeAt = std::function<WallTime(std::int64_t offset)>;
  explicit LogStamps(TimeAt time_at) : time_at_(std::move(time_at)) {}

  // `text` begins at `offset` of the log, and follows the text of the last call. A line that began
  // in the last text goes on without a stamp.
  std::string Add(std::string_view text, std::int64_t offset);

 private:
  TimeAt time_at_;
  std::string stamp_;  // the text of last_, with the blank; lines that came together share a time
  WallTime last_{};
  bool is_at_line_start_ = true;
};

}  // namespace berth::local::cluster

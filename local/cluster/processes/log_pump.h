// local/cluster/processes/log_pump.h — copies a program's standard output to its log file, within a
// limit.
//
//     program ──pipe──▶ pump thread ──▶ 0.log   (keeps the newest part, up to the limit)
//
// The oldest part of a log is released to the file system as a hole, so that offsets in the file do
// not change; readers begin at LogBegin. The times of the output stand beside the log
// (log_times.h). On a file system without holes a log ends at its limit. A program that writes
// waits for this thread at most, and never sees the path.
//
// Internal to process_host.cc, except LogBegin. Threads: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::local::cluster {

class LogPump {
 public:
  static Result<std::unique_ptr<LogPump>> Start();
  ~LogPump();  // closes all logs

  struct Log {
    std::int64_t id = 0;
    int write_end = -1;  // for the program; the caller closes it
  };
  // Appends to `path`. `most_bytes` 0: no limit. kUnavailable: no file descriptors.
  Result<Log> Open(const std::string& path, std::int64_t most_bytes);
  // Like Open, but reads `source`, such as a terminal, instead of a pipe. Owns `source` from now
  // on, also after an error.
  Result<Log> OpenFrom(const std::string& path, std::int64_t most_bytes, int source);
  // Gives `on_text` all later output, on the pump's thread, until the last copy of the returned
  // guard is gone. `on_text` must be quick and must not call the pump.
  using OnText = std::function<void(std::string_view)>;
  std::shared_ptr<void> Tap(std::int64_t id, OnText on_text);
  // Writes the pipe's content and closes the log: later output of a stray descendant is lost.
  void Finish(std::int64_t id);

 private:
  class Impl;
  explicit LogPump(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // guards of taps refer to it weakly
};

// The offset of the kept part of a log: 0, or the end of its hole.
std::uintmax_t LogBegin(const std::string& path);

}  // namespace berth::local::cluster

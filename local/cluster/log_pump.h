// local/cluster/log_pump.h — from a program's standard output into its log file, within a limit.
//
//     program ──pipe──▶ pump thread ──▶ 0.log   (of more than the limit the newest part is kept)
//
// The oldest part of a log is given back to the file system as a hole, so that positions in the
// file stay what they were; readers begin at LogBegin. On a file system without holes a log ends at
// its limit. A program never waits for more than this thread's turn, and never sees the path.
//
// Internal to process_host.cc, but for LogBegin. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

namespace berth::local::cluster {

class LogPump {
 public:
  static Result<std::unique_ptr<LogPump>> Start();
  ~LogPump();  // closes what is open

  struct Log {
    std::int64_t id = 0;
    int write_end = -1;  // for the program; the caller closes it
  };
  // Appends to `path`. `most_bytes` 0: no limit. kUnavailable where there are no files to be had.
  Result<Log> Open(const std::string& path, std::int64_t most_bytes);
  // Writes what is in the pipe, and forgets it: later output of a stray descendant is lost.
  void Finish(std::int64_t id);

 private:
  class Impl;
  explicit LogPump(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Where the kept part of a log begins: 0, or behind its hole.
std::uintmax_t LogBegin(const std::string& path);

}  // namespace berth::local::cluster

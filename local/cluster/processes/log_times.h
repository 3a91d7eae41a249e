// local/cluster/processes/log_times.h — when the bytes of a log were written: an index beside the
// log.
//
//     0.log    what the program wrote, as it is
//     0.times  records of 16 bytes, in this machine's byte order: offset in the log (int64),
//              time in microseconds since 1970 (int64); both rise
//
// A record holds from its offset to the offset of the next record. A piece of output gets a record
// if it comes kFresh after the last record, or kShort after it with kFewBytes of output between. So
// the index is no larger than the log, or grows by at most 160 bytes a second. Logs without an
// index have no times.
//
// Threads: none. Errors: where the index cannot be written, the rest of the log has the last time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace berth::local::cluster {

// "…/0.times" for "…/0.log".
std::string LogTimesPath(const std::string& log_path);

class LogTimesWriter {
 public:
  static constexpr Duration kFresh = std::chrono::milliseconds(100);
  static constexpr Duration kShort = std::chrono::milliseconds(1);
  static constexpr std::int64_t kFewBytes = 16;

  LogTimesWriter() = default;
  // Appends to the index of a log.
  explicit LogTimesWriter(const std::string& log_path);
  LogTimesWriter(LogTimesWriter&& other) noexcept;
  LogTimesWriter& operator=(LogTimesWriter&& other) noexcept;
  ~LogTimesWriter();

  // Bytes of the log from `offset` on were written at `now`.
  void Add(std::int64_t offset, WallTime now);
  // Releases the records of the log's bytes before `begin` to the file system.
  void Forget(std::int64_t begin);

 private:
  int file_ = -1;
  bool is_first_ = true;
  std::int64_t last_offset_ = 0;
  std::int64_t last_time_ = 0;
  std::int64_t end_ = 0;  // where the index ends
};

class LogTimes {
 public:
  explicit LogTimes(const std::string& log_path);
  ~LogTimes();
  LogTimes(const LogTimes&) = delete;
  LogTimes& operator=(const LogTimes&) = delete;

  bool is_there() const { return file_ >= 0; }
  // The offset of the first record at `time` or later; nullopt: everything is older.
  std::optional<std::int64_t> OffsetAt(WallTime time) const;
  // The time of the byte at `offset`. Fast for rising offsets. Records that were added since the
  // last Renew may be missed.
  WallTime At(std::int64_t offset);
  void Renew();

 private:
  struct Record {
    std::int64_t offset = 0;
    std::int64_t time = 0;
  };
  std::optional<Record> Read(std::int64_t number) const;
  const Record* Peek(std::int64_t number);

  int file_ = -1;
  std::int64_t current_ = 0;  // the record that the last call of At has found
  // The range of offsets that have known_time_; behind the last record the range has no end.
  std::int64_t known_begin_ = 0;
  std::int64_t known_end_ = 0;
  WallTime known_time_{};
  std::vector<Record> piece_;
  std::int64_t piece_begin_ = 0;
};

}  // namespace berth::local::cluster

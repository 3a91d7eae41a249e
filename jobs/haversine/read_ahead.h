// jobs/haversine/read_ahead.h — the pieces of an input in order, read several at a time.
//
// Holds at most twice `parallel` pieces.
// Threads: one caller of Next at a time; the destructor cancels the reader and joins the threads.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "jobs/haversine/range_reader.h"

namespace berth::haversine {

class ReadAhead {
 public:
  ReadAhead(std::unique_ptr<RangeReader> reader, int parallel, std::size_t piece_bytes);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // The next piece; nullopt after the last one. A later piece is read into the memory of `spare`.
  Result<std::optional<std::string>> Next(std::string spare = {});

  const RangeReader& reader() const { return *reader_; }
  std::uint64_t piece_count() const { return piece_count_; }

 private:
  void Work();

  const std::unique_ptr<RangeReader> reader_;
  const std::size_t piece_bytes_;
  const std::uint64_t piece_count_;
  const std::uint64_t window_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_to_read_ = 0;  // guarded by mutex_, as all members below
  std::uint64_t next_to_give_ = 0;
  std::map<std::uint64_t, Result<std::string>> ready_;
  std::vector<std::string> spares_;  // at most window_
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace berth::haversine

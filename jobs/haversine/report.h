// jobs/haversine/report.h — the result and the progress in words.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "jobs/haversine/pipeline.h"

namespace berth::haversine {

struct RunFacts {
  std::string input;
  std::string device;
};

std::string TextReport(const Outcome& outcome, const RunFacts& facts);
std::string JsonReport(const Outcome& outcome, const RunFacts& facts);

// Progress on stderr: one line that is overwritten on a terminal, a log line now and then
// elsewhere.
//
// Threads: Show from one at a time.
class ProgressWriter {
 public:
  enum class Style : std::uint8_t { kTerminal, kLog, kSilent };
  explicit ProgressWriter(Style style) : style_(style) {}
  ~ProgressWriter();  // wipes the terminal's line
  ProgressWriter(const ProgressWriter&) = delete;
  ProgressWriter& operator=(const ProgressWriter&) = delete;

  // Terminal where stderr is one.
  static Style StyleOfStderr();

  void Show(const Progress& progress);

 private:
  using Clock = std::chrono::steady_clock;
  Style style_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point shown_at_ = started_;
  std::size_t width_ = 0;  // of the line on the terminal
};

// "146,112,989".
std::string WithCommas(std::uint64_t number);

}  // namespace berth::haversine

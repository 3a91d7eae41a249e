// jobs/haversine/text_report.h — prints the result and the progress.
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

// Progress on stderr: one overwritten line on a terminal, a log line at intervals
// elsewhere.
//
// Threads: one caller of Show at a time.
class ProgressWriter {
 public:
  enum class Style : std::uint8_t { kTerminal, kLog, kSilent };
  explicit ProgressWriter(Style style) : style_(style) {}
  ~ProgressWriter();  // erases the terminal's line
  ProgressWriter(const ProgressWriter&) = delete;
  ProgressWriter& operator=(const ProgressWriter&) = delete;

  // kTerminal if stderr is a terminal.
  static Style StyleOfStderr();

  void Show(const Progress& progress);

 private:
  using Clock = std::chrono::steady_clock;
  Style style_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point shown_at_ = started_;
  std::size_t width_ = 0;  // the width of the printed line
};

// "146,112,989".
std::string WithCommas(std::uint64_t number);

}  // namespace berth::haversine

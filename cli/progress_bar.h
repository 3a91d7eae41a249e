// cli/progress_bar.h — how far a long command has come: a line on the terminal of stderr that is
// drawn over itself, and erased at the end.
//
//     [######--------------] 31 %  31004 of 100000 jobs
//
// Threads: one. Errors: none; if stderr cannot be written, nothing is shown.
#pragma once

#include <cstdint>
#include <string>

namespace berth::cli {

class ProgressBar {
 public:
  // Shows how many of `total` things are done; `noun` names them in the plural. Shows nothing if
  // stderr is no terminal or cannot draw over a line (TERM=dumb), or if `total` is 0.
  ProgressBar(std::int64_t total, std::string noun);
  ~ProgressBar();  // erases the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // One thing more is done. Draws at each percent.
  void Step();

 private:
  void Draw() const;

  const std::int64_t total_;
  const std::string noun_;
  const bool is_shown_;
  std::int64_t done_ = 0;
  std::int64_t percent_ = 0;
};

}  // namespace berth::cli

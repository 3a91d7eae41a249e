#include "cli/progress_bar.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace berth::cli {
namespace {

constexpr std::int64_t kWhole = 100;  // percent
constexpr std::int64_t kPercentPerMark = 5;
constexpr char kEraseLine[] = "\r\033[K";

bool TerminalDrawsOver() {
  if (isatty(STDERR_FILENO) != 1) return false;
  const char* kind = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return kind != nullptr && std::string_view(kind) != "dumb";
}

}  // namespace

ProgressBar::ProgressBar(std::int64_t total, std::string noun)
    : total_(total), noun_(std::move(noun)), is_shown_(total > 0 && TerminalDrawsOver()) {
  if (is_shown_) Draw();
}

ProgressBar::~ProgressBar() {
  if (!is_shown_) return;
  std::fputs(kEraseLine, stderr);
  std::fflush(stderr);
}

void ProgressBar::Step() {
  ++done_;
  if (!is_shown_) return;
  const std::int64_t percent = std::min(kWhole, done_ * kWhole / total_);
  if (percent == percent_) return;
  percent_ = percent;
  Draw();
}

void ProgressBar::Draw() const {
  const auto marks = static_cast<std::size_t>(percent_ / kPercentPerMark);
  const auto all = static_cast<std::size_t>(kWhole / kPercentPerMark);
  const std::string bar = std::string(marks, '#') + std::string(all - marks, '-');
  const std::string percent = std::to_string(percent_);
  const std::string text = bar + "] " + percent + " %  " + std::to_string(done_) + " of " +
                           std::to_string(total_) + " " + noun_;
  std::fprintf(stderr, "%s[%s", kEraseLine, text.c_str());
  std::fflush(stderr);
}

}  // namespace berth::cli

#include "jobs/haversine/text_report.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace berth::haversine {
namespace {

constexpr int kBarWidth = 40;

double Mean(const Summary& summary) {
  return summary.rows == 0 ? 0.0 : summary.sum_km / static_cast<double>(summary.rows);
}

double RowsPerSecond(const Outcome& outcome) {
  return outcome.seconds > 0 ? static_cast<double>(outcome.counts.read) / outcome.seconds : 0.0;
}

std::string JsonString(std::string_view text) {
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') quoted += '\\';
    if (static_cast<unsigned char>(character) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(character));
    } else {
      quoted += character;
    }
  }
  return quoted + "\"";
}

void AppendHistogram(const Summary& summary, std::string& text) {
  const auto& bins = summary.bins;
  const std::uint64_t most = *std::max_element(bins.begin(), bins.end());
  std::size_t last = kBinCount - 1;
  while (last > 0 && bins[last] == 0) --last;
  for (std::size_t bin = 0; bin <= last; ++bin) {
    const auto width = static_cast<std::size_t>(
        most == 0 ? 0.0
                  : kBarWidth * static_cast<double>(bins[bin]) / static_cast<double>(most) + 0.5);
    const std::string range = bin + 1 == kBinCount ? fmt::format("{:>2} km and more", bin)
                                                   : fmt::format("{:>2} to {:>2} km", bin, bin + 1);
    text += fmt::format("  {:<15}  {:>13}  {}\n", range, WithCommas(bins[bin]),
                        std::string(width, '#'));
  }
}

}  // namespace

std::string WithCommas(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, 1, ',');
  return digits;
}

std::string TextReport(const Outcome& outcome, const RunFacts& facts) {
  const RowCounts& counts = outcome.counts;
  std::string text = fmt::format(
      "input      {}\n"
      "device     {}\n"
      "rows       {} read: {} computed, {} with a zero coordinate, {} impossible, {} malformed\n",
      facts.input, facts.device, WithCommas(counts.read), WithCommas(counts.used),
      WithCommas(counts.zero), WithCommas(counts.impossible), WithCommas(counts.malformed));
  if (outcome.first_bad.line != 0) {
    text += fmt::format("           first malformed: line {}: {}\n", outcome.first_bad.line,
                        outcome.first_bad.what);
  }
  text += fmt::format("mean       {:.6f} km\nmaximum    {:.6f} km\n", Mean(outcome.summary),
                      outcome.summary.max_km);
  text += fmt::format("time       {:.3f} s, {:.1f} million rows/s\n", outcome.seconds,
                      RowsPerSecond(outcome) / 1e6);
  if (outcome.check.checked > 0) {
    text += fmt::format("check      {} rows against long double: {} differ; worst {:.3g} km\n",
                        WithCommas(outcome.check.checked), WithCommas(outcome.check.failed),
                        outcome.check.worst_km);
  }
  text += "histogram\n";
  AppendHistogram(outcome.summary, text);
  return text;
}

std::string JsonReport(const Outcome& outcome, const RunFacts& facts) {
  const RowCounts& counts = outcome.counts;
  std::string bins;
  for (const std::uint64_t count : outcome.summary.bins) {
    bins += (bins.empty() ? "" : ",") + std::to_string(count);
  }
  return fmt::format(
      "{{\"input\":{},\"device\":{},\"rowsRead\":{},\"rowsComputed\":{},\"rowsZero\":{},"
      "\"rowsImpossible\":{},\"rowsMalformed\":{},\"meanKm\":{},\"maxKm\":{},"
      "\"seconds\":{:.6f},\"rowsPerSecond\":{:.0f},\"checked\":{},\"checkFailed\":{},"
      "\"worstDifferenceKm\":{:.3g},\"histogramKm\":[{}]}}\n",
      JsonString(facts.input), JsonString(facts.device), counts.read, counts.used, counts.zero,
      counts.impossible, counts.malformed, Mean(outcome.summary), outcome.summary.max_km,
      outcome.seconds, RowsPerSecond(outcome), outcome.check.checked, outcome.check.failed,
      outcome.check.worst_km, bins);
}

ProgressWriter::Style ProgressWriter::StyleOfStderr() {
  return ::isatty(STDERR_FILENO) == 1 ? Style::kTerminal : Style::kLog;
}

ProgressWriter::~ProgressWriter() {
  if (width_ > 0) std::fputs(("\r" + std::string(width_, ' ') + "\r").c_str(), stderr);
}

void ProgressWriter::Show(const Progress& progress) {
  if (style_ == Style::kSilent) return;
  const auto now = Clock::now();
  const auto interval =
      style_ == Style::kTerminal ? std::chrono::milliseconds(200) : std::chrono::milliseconds(5000);
  if (now - shown_at_ < interval) return;
  shown_at_ = now;
  const double seconds = std::chrono::duration<double>(now - started_).count();
  const double rate = static_cast<double>(progress.rows) / seconds / 1e6;
  if (style_ == Style::kLog) {
    fmt::print(stderr,
               "progress rows={} percent={:.1f} seconds={:.1f} million_rows_per_second={:.1f}\n",
               progress.rows, progress.fraction * 100, seconds, rate);
    return;
  }
  const double left = progress.fraction > 0 ? seconds / progress.fraction - seconds : 0.0;
  std::string line = fmt::format("{:5.1f} %  {} rows  {:.1f} million rows/s  {:.0f} s left",
                                 progress.fraction * 100, WithCommas(progress.rows), rate, left);
  const std::size_t width = line.size();
  if (width < width_) line.append(width_ - width, ' ');
  width_ = width;
  std::fputs(("\r" + line).c_str(), stderr);
}

}  // namespace berth::haversine

#include "simulation/trace.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/go_duration.h"
#include "base/rfc3339.h"
#include "base/strings.h"

namespace berth::simulation {
namespace {

constexpr std::int64_t kMicros = 1'000'000;
constexpr std::size_t kFractionDigits = 6;

bool AllDigits(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char each) { return each >= '0' && each <= '9'; });
}

bool EndsWith(std::string_view name, std::string_view end) {
  return name.size() >= end.size() && EqualsIgnoreCase(name.substr(name.size() - end.size()), end);
}

}  // namespace

const char* ToString(TraceUnit unit) { return unit == TraceUnit::kJob ? "job" : "line"; }

Error TraceError(std::int64_t line, std::size_t column, const std::string& problem) {
  return {ErrorCode::kInvalid,
          "line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + problem};
}

std::string_view TakeLine(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

Result<std::string_view> TakeTraceLine(std::string_view& rest, std::int64_t number) {
  const std::string_view line = TakeLine(rest);
  if (line.size() <= kMaxTraceLine) return line;
  return TraceError(number, kMaxTraceLine + 1,
                    "the line is longer than " + std::to_string(kMaxTraceLine) + " bytes");
}

Status CheckJobCount(const Trace& trace, std::int64_t number) {
  if (trace.jobs.size() < kMaxTraceJobs) return OkStatus();
  return TraceError(number, 1, "more than " + std::to_string(kMaxTraceJobs) + " jobs");
}

namespace {

// A finite number of 0 or more, exponents included.
std::optional<double> ParseNumber(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(number) || std::signbit(number)) return std::nullopt;
  return number;
}

// Digits with an optional fraction, exactly.
std::optional<Duration> ParseDecimal(std::string_view text) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  std::string_view fraction;
  if (point != std::string_view::npos) {
    fraction = text.substr(point + 1);
    if (fraction.empty()) return std::nullopt;
  }
  if (whole.empty() || !AllDigits(whole) || !AllDigits(fraction)) return std::nullopt;
  const std::optional<std::int64_t> seconds = ParseInt64(whole);
  if (!seconds || *seconds > kMaxTraceTime / std::chrono::seconds(1)) return std::nullopt;
  std::int64_t micros = 0;
  for (std::size_t i = 0; i < kFractionDigits; ++i) {
    micros = micros * 10 + (i < fraction.size() ? fraction[i] - '0' : 0);
  }
  return Duration(*seconds * kMicros + micros);
}

std::optional<Duration> InRange(std::optional<Duration> duration) {
  return duration && *duration <= kMaxTraceTime ? duration : std::nullopt;
}

// HH:MM:SS, with a fraction of a second.
std::optional<Duration> ParseClock(std::string_view text) {
  const std::size_t first = text.find(':');
  const std::size_t second = text.find(':', first + 1);
  if (first == text.npos || second == text.npos) return std::nullopt;
  const auto hours = ParseInt64(text.substr(0, first));
  const auto minutes = ParseInt64(text.substr(first + 1, second - first - 1));
  const auto seconds = ParseSeconds(text.substr(second + 1));
  constexpr std::int64_t kMostHours = kMaxTraceTime / std::chrono::hours(1);
  if (!hours || !minutes || !seconds || *hours < 0 || *hours > kMostHours || *minutes < 0 ||
      *minutes > 59 || *seconds >= std::chrono::minutes(1)) {
    return std::nullopt;
  }
  return std::chrono::hours(*hours) + std::chrono::minutes(*minutes) + *seconds;
}

}  // namespace

std::optional<Duration> ParseRunTime(std::string_view text) {
  if (const auto seconds = ParseSeconds(text)) return seconds;
  Duration days{};
  const std::size_t mark = text.find_first_of("d-");
  if (mark != text.npos) {
    constexpr std::int64_t kMostDays = kMaxTraceTime / std::chrono::hours(24);
    const auto count = ParseInt64(text.substr(0, mark));
    if (!count || *count < 0 || *count > kMostDays) return std::nullopt;
    days = std::chrono::hours(24) * *count;
    const bool is_clock = text[mark] == '-';
    text.remove_prefix(mark + 1);
    if (text.empty() && !is_clock) return InRange(days);
    if (is_clock && text.find(':') == text.npos) return std::nullopt;
  }
  std::optional<Duration> rest = ParseClock(text);
  if (!rest) rest = ParseGoDuration(text);
  if (!rest || *rest < Duration::zero() || *rest > kMaxTraceTime) return std::nullopt;
  return InRange(days + *rest);
}

std::optional<std::int32_t> WalltimeOf(Duration most) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(most).count();
  if (seconds < 1 || seconds > INT32_MAX) return std::nullopt;
  return static_cast<std::int32_t>(seconds);
}

std::optional<WallTime> ParseTraceTime(std::string_view text) {
  constexpr std::size_t kDate = 10;  // 2019-05-21
  std::string time(text);
  if (time.size() > kDate && time[kDate] == ' ') time[kDate] = 'T';
  if (const auto known = ParseTime(time)) return known;
  return ParseTime(time + "Z");
}

std::optional<std::int64_t> ParseWhole(std::string_view text, std::int64_t most) {
  const std::optional<double> number = ParseNumber(text);
  if (!number || *number != std::floor(*number) || *number > static_cast<double>(most)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*number);
}

std::optional<Duration> ParseSeconds(std::string_view text) {
  if (const auto exact = ParseDecimal(text)) return exact;
  const std::optional<double> number = ParseNumber(text);
  const double most = std::chrono::duration<double>(kMaxTraceTime).count();
  if (!number || *number > most) return std::nullopt;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*number));
}

namespace {

bool IsTaskRow(std::string_view line) {
  if (std::count(line.begin(), line.end(), ',') != 9) return false;
  for (const char* status : {",Terminated,", ",Failed,", ",Running,", ",Waiting,"}) {
    if (line.find(status) != std::string_view::npos) return true;
  }
  return false;
}

std::string_view WithoutByteOrderMark(std::string_view text) {
  return text.substr(0, 3) == "\xEF\xBB\xBF" ? text.substr(3) : text;
}

// nullopt: the line is none of Alibaba's traces.
std::optional<TraceFormat> AlibabaFormatOf(std::string_view text) {
  std::string_view line;
  while (line.empty() && !text.empty()) line = TrimSpace(TakeLine(text));
  if (line.find("cpu_milli") != std::string_view::npos &&
      line.find("memory_mib") != std::string_view::npos) {
    return TraceFormat::kAlibabaPods;
  }
  const bool is_header = line.substr(0, 9) == "job_name," && line.find("plan_gpu") != line.npos;
  if (is_header || IsTaskRow(line)) return TraceFormat::kAlibabaTasks;
  return std::nullopt;
}

}  // namespace

TraceFormat FormatOf(std::string_view name, std::string_view text) {
  text = WithoutByteOrderMark(text);
  if (const auto format = AlibabaFormatOf(text)) return *format;
  if (EndsWith(name, ".swf")) return TraceFormat::kSwf;
  if (EndsWith(name, ".csv")) return TraceFormat::kCsv;
  while (!text.empty()) {
    const std::string_view line = TrimSpace(TakeLine(text));
    if (line.empty()) continue;
    const bool is_swf = line.front() == ';' || (line.find(',') == std::string_view::npos &&
                                                line.front() >= '0' && line.front() <= '9');
    return is_swf ? TraceFormat::kSwf : TraceFormat::kCsv;
  }
  return TraceFormat::kCsv;
}

Result<Trace> ReadTrace(TraceFormat format, std::string_view text) {
  text = WithoutByteOrderMark(text);
  switch (format) {
    case TraceFormat::kCsv: return ReadCsv(text);
    case TraceFormat::kSwf: return ReadSwf(text);
    case TraceFormat::kAlibabaPods: return ReadAlibabaPods(text);
    case TraceFormat::kAlibabaTasks: return ReadAlibabaTasks(text);
  }
  return ReadCsv(text);
}

}  // namespace berth::simulation

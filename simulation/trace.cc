#include "simulation/trace.h"

#include <algorithm>

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

std::optional<Duration> ParseSeconds(std::string_view text) {
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

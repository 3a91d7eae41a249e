// Workloads in the Standard Workload Format.
#include <array>
#include <charconv>
#include <cmath>

#include "base/strings.h"
#include "simulation/trace.h"

namespace berth::simulation {
namespace {

// The format's fields; archives have rows with fewer and with more.
constexpr std::size_t kFields = 18;
constexpr std::size_t kFewest = 11;  // up to the status
constexpr std::size_t kMost = 30;
constexpr api::Amount kMilliPerCpu = 1000;

// The fields that count, by their place in the line.
enum SwfField : std::size_t {
  kSubmit = 1,
  kRunTime = 3,
  kAllocated = 4,
  kRequested = 7,
  kRequestedTime = 8,
  kStatus = 10,
  kUser = 11,
  kQueue = 14
};

constexpr std::array<const char*, kFields> kNames{"job number",
                                                  "submit time",
                                                  "wait time",
                                                  "run time",
                                                  "allocated processors",
                                                  "average CPU time",
                                                  "used memory",
                                                  "requested processors",
                                                  "requested time",
                                                  "requested memory",
                                                  "status",
                                                  "user",
                                                  "group",
                                                  "executable",
                                                  "queue",
                                                  "partition",
                                                  "preceding job",
                                                  "think time"};

struct SwfNumber {
  std::string_view text;
  std::size_t column = 1;
};

bool IsBlank(char each) { return each == ' ' || each == '\t'; }

// A number with an optional sign, fraction and exponent, such as -1, 60.5 and 3.6e3. nullopt: it is
// none, or is larger than any time of a trace.
std::optional<double> NumberOf(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  const double most = std::chrono::duration<double>(kMaxTraceTime).count();
  if (!std::isfinite(number) || number > most) return std::nullopt;
  return number;
}

bool IsRead(std::size_t field) {
  return field == kSubmit || field == kRunTime || field == kAllocated || field == kRequested ||
         field == kRequestedTime || field == kStatus;
}

// Fields that are not read may hold anything. Fields that the row lacks are unknown.
Status SplitNumbers(std::string_view line, std::int64_t number,
                    std::array<SwfNumber, kFields>& fields) {
  fields.fill({"-1", line.size() + 1});
  std::size_t count = 0;
  std::size_t at = 0;
  while (true) {
    while (at < line.size() && IsBlank(line[at])) ++at;
    if (at == line.size()) break;
    if (line[at] == ';') break;  // a comment
    if (count == kMost) return TraceError(number, at + 1, "more than 30 fields");
    const std::size_t begin = at;
    while (at < line.size() && !IsBlank(line[at]) && line[at] != ';') ++at;
    if (count >= kFields) {
      ++count;
      continue;
    }
    fields[count] = {line.substr(begin, at - begin), begin + 1};
    if (IsRead(count) && !NumberOf(fields[count].text)) {
      return TraceError(number, begin + 1,
                        std::string(kNames[count]) + " (field " + std::to_string(count + 1) +
                            "): expected a number, or -1 where it is unknown");
    }
    ++count;
  }
  if (count >= kFewest) return OkStatus();
  return TraceError(number, line.size() + 1,
                    "the row has " + std::to_string(count) + " fields, expected 18");
}

bool IsKnown(const SwfNumber& field) { return field.text.front() != '-'; }

// "queue:3"; empty: the number is unknown.
std::string NamedNumber(const char* name, const SwfNumber& field) {
  return IsKnown(field) ? name + (":" + std::string(field.text)) : "";
}

// 0: the number is unknown.
Result<std::int32_t> ProcessorsOf(const SwfNumber& field, std::int64_t line, const char* name) {
  if (!IsKnown(field)) return 0;
  const std::optional<std::int64_t> count = ParseWhole(field.text, kMaxPods);
  if (!count) {
    return TraceError(
        line, field.column,
        std::string(name) + ": expected a whole number up to " + std::to_string(kMaxPods));
  }
  return static_cast<std::int32_t>(*count);
}

Status AddRow(const std::array<SwfNumber, kFields>& fields, std::int64_t line, Trace& trace) {
  BERTH_TRY(const std::int32_t requested,
            ProcessorsOf(fields[kRequested], line, kNames[kRequested]));
  BERTH_TRY(const std::int32_t allocated,
            ProcessorsOf(fields[kAllocated], line, kNames[kAllocated]));
  const std::int32_t processors = requested > 0 ? requested : allocated;
  const bool timed = IsKnown(fields[kSubmit]) && IsKnown(fields[kRunTime]);
  const Duration run = timed ? *ParseSeconds(fields[kRunTime].text) : Duration::zero();
  if (run == Duration::zero() || processors == 0) {
    ++trace.skipped;
    return OkStatus();
  }
  TraceJob job;
  job.line = line;
  job.submit = *ParseSeconds(fields[kSubmit].text);
  job.run = run;
  job.pods = processors;
  job.requests["cpu"] = kMilliPerCpu;
  job.failed = NumberOf(fields[kStatus].text) == 0.0;
  job.origin = NamedNumber("queue", fields[kQueue]);
  job.user = NamedNumber("user", fields[kUser]);
  if (IsKnown(fields[kRequestedTime])) {
    job.walltime = WalltimeOf(*ParseSeconds(fields[kRequestedTime].text));
  }
  trace.jobs.push_back(std::move(job));
  return OkStatus();
}

}  // namespace

Result<Trace> ReadSwf(std::string_view text) {
  Trace trace;
  std::array<SwfNumber, kFields> fields;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    BERTH_TRY(const std::string_view line, TakeTraceLine(text, number));
    const std::string_view trimmed = TrimSpace(line);
    if (trimmed.empty() || trimmed.front() == ';') continue;
    BERTH_CHECK_OK(CheckJobCount(trace, number));
    BERTH_CHECK_OK(SplitNumbers(line, number, fields));
    BERTH_CHECK_OK(AddRow(fields, number, trace));
  }
  return trace;
}

}  // namespace berth::simulation

// simulation/trace.h — jobs of a recorded or written workload, read from text.
//
//     CSV      submit,queue,pods,cpu,memory,gpu,run,walltime     a header names the columns
//     SWF      18 numbers a line, comments begin with ;          Standard Workload Format
//     Alibaba  pods of 2023 (openb_pod_list), tasks of 2020 (pai_task_table)
//
// A text is read whole or not at all: the first line that does not fit gives the error, with its
// line and column. docs/guide/simulate.md describes the columns for users.
//
// Units: times are microseconds from the trace's zero. Requests are Amounts of one pod.
// Bounds: kMaxTraceJobs jobs, kMaxTraceLine bytes a line, kMaxPods pods and kMaxTraceTime a job.
// Threads: pure functions. Errors: kInvalid, "line 3, column 14: …"; columns are bytes from 1.
// Source: RFC 4180; the Parallel Workloads Archive's definition of SWF 2.2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/quantity.h"
#include "base/clock.h"
#include "base/result.h"

namespace berth::simulation {

inline constexpr std::size_t kMaxTraceJobs = 10'000'000;
inline constexpr std::size_t kMaxTraceLine = 64 * 1024;
inline constexpr std::int64_t kMaxPods = 1'000'000;
inline constexpr Duration kMaxTraceTime = std::chrono::hours(24 * 365 * 200);

// The unit of TraceJob::line: lines of the text, or the jobs of a trace that has no lines (the log
// of Philly, ledgers, generators).
enum class TraceUnit : std::uint8_t { kLine, kJob };
const char* ToString(TraceUnit unit);  // "line", "job"

struct TraceJob {
  std::int64_t line = 0;  // line of the text, or number of the job (TraceUnit), from 1
  Duration submit{};
  Duration run{};
  std::string queue;     // "NAME" or "NAMESPACE/NAME"; empty: the row names none
  std::string priority;  // a number, or the name of a WorkloadPriorityClass; empty: none
  std::int32_t pods = 1;
  api::ResourceAmounts requests;  // what one pod requests
  // Jobs of the trace, by their places in it: the job is submitted `submit` after the last of these
  // has finished.
  std::vector<std::int32_t> after;
  // The job fails at the end of its run; jobs that wait for it are submitted all the same.
  bool failed = false;
  // From the start of the run: when jobs that wait for this one may come; nullopt: at its end.
  std::optional<Duration> result;
  // The owner of the job in the trace: virtual cluster, class of service, or "queue:3" of SWF; may
  // be empty.
  std::string origin;
  std::string user;  // "user:12" of SWF; who made the job, of ledgers; may be empty
  // The maximum run time that the job declares, in seconds, independent of `run`; nullopt: it
  // declares none.
  std::optional<std::int32_t> walltime;
  friend bool operator==(const TraceJob&, const TraceJob&) = default;
};

struct Trace {
  std::vector<TraceJob> jobs;               // in the order of the text
  std::int64_t skipped = 0;                 // rows without a run, or without processors
  std::vector<std::string> unread_columns;  // CSV: names of columns that are not read
  TraceUnit unit = TraceUnit::kLine;
};

enum class TraceFormat : std::uint8_t { kCsv, kSwf, kAlibabaPods, kAlibabaTasks };

// The traces of Alibaba by their columns, else by the name's end (.swf, .csv), else by the first
// line that is not empty: a comment of SWF begins with ';', and a row of SWF has no comma.
TraceFormat FormatOf(std::string_view name, std::string_view text);

Result<Trace> ReadTrace(TraceFormat format, std::string_view text);

// Columns: submit and run (required), queue, priority, pods, user, walltime, status, cpu, memory,
// gpu (nvidia.com/gpu), and the full name of any other resource. Lines that are empty or begin with
// '#' are skipped. Columns of other names are not read, but a name that looks like a misspelt
// column is an error.
Result<Trace> ReadCsv(std::string_view text);

// A job becomes one pod of one CPU for each processor that it requested, or got where the request
// is unknown. Rows whose run time or processors are unknown (-1) or zero are skipped and counted.
// Status 0 is a job that failed. The requested time is the walltime.
Result<Trace> ReadSwf(std::string_view text);

// The pods of cluster-trace-gpu-v2023: each a job, from its placement to its deletion; `origin` is
// the class of service. A part of a GPU counts as a whole GPU. Pods without both times are skipped
// and counted.
Result<Trace> ReadAlibabaPods(std::string_view text);
// The tasks of cluster-trace-gpu-v2020, with or without the line of names: each a job with a pod
// for each instance; `origin` is the type of GPU. A part of a GPU counts as a whole GPU. Tasks
// without both times are skipped and counted.
Result<Trace> ReadAlibabaTasks(std::string_view text);

// The bytes before the next line end, which is removed from `rest`; a final '\r' is cut.
std::string_view TakeLine(std::string_view& rest);
// Takes line `number` of a trace from `rest`. Errors: kInvalid: the line has more than
// kMaxTraceLine bytes.
Result<std::string_view> TakeTraceLine(std::string_view& rest, std::int64_t number);
// Whether the trace may have one more job, of line `number`.
Status CheckJobCount(const Trace& trace, std::int64_t number);

// "line 3, column 14: …". `column` counts from 1.
Error TraceError(std::int64_t line, std::size_t column, const std::string& problem);

// "1.5" as 1.5 s, "3.6e3" as one hour; at most six digits after the point count. nullopt: no such
// number, negative, or above kMaxTraceTime.
std::optional<Duration> ParseSeconds(std::string_view text);
// ParseSeconds, durations of Go (1h30m), with days in front (1d, 2d4h), and clocks ([D-]HH:MM:SS).
std::optional<Duration> ParseRunTime(std::string_view text);
// The declared maximum in whole seconds, rounded up; nullopt: it is zero, or too long for
// spec.maximumExecutionTimeSeconds of a Workload.
std::optional<std::int32_t> WalltimeOf(Duration most);
// A time of RFC 3339; a blank may stand for the T, and a time without a zone is UTC.
std::optional<WallTime> ParseTraceTime(std::string_view text);
// "4", "4.0" and "1e2". nullopt: no whole number, or not from 0 to `most`.
std::optional<std::int64_t> ParseWhole(std::string_view text, std::int64_t most);

}  // namespace berth::simulation

// Workloads as comma-separated values.
#include <algorithm>
#include <array>

#include "base/strings.h"
#include "simulation/csv_fields.h"
#include "simulation/trace.h"

namespace berth::simulation {
namespace {

enum class ColumnKind : std::uint8_t {
  kSubmit,
  kRun,
  kQueue,
  kPriority,
  kPods,
  kUser,
  kWalltime,
  kStatus,
  kResource,
  kUnread
};

struct Column {
  ColumnKind kind = ColumnKind::kUser;
  std::string name;
  api::ResourceName resource;
};

struct KnownColumn {
  std::string_view name;
  ColumnKind kind;
  std::string_view resource;
};
constexpr std::array<KnownColumn, 12> kKnown{{{"submit", ColumnKind::kSubmit, ""},
                                              {"run", ColumnKind::kRun, ""},
                                              {"queue", ColumnKind::kQueue, ""},
                                              {"priority", ColumnKind::kPriority, ""},
                                              {"class", ColumnKind::kPriority, ""},
                                              {"pods", ColumnKind::kPods, ""},
                                              {"user", ColumnKind::kUser, ""},
                                              {"walltime", ColumnKind::kWalltime, ""},
                                              {"status", ColumnKind::kStatus, ""},
                                              {"cpu", ColumnKind::kResource, "cpu"},
                                              {"memory", ColumnKind::kResource, "memory"},
                                              {"gpu", ColumnKind::kResource, "nvidia.com/gpu"}}};

// "; did you mean queue?": the known name that is nearly `name`; empty: there is none.
std::string Suggestion(const std::string& name) {
  std::string_view nearest;
  constexpr std::size_t kLong = 5;  // letters: two of them may be wrong
  std::size_t distance = 3;
  for (const KnownColumn& known : kKnown) {
    const std::size_t edits = EditDistance(name, known.name);
    const std::size_t most = std::min(name.size(), known.name.size()) < kLong ? 1 : 2;
    if (edits >= distance || edits > most) continue;
    distance = edits;
    nearest = known.name;
  }
  return nearest.empty() ? "" : "; did you mean " + std::string(nearest) + "?";
}

Result<Column> ColumnOf(const CsvField& field, std::int64_t line) {
  const std::string name = ToLower(field.value);
  for (const KnownColumn& known : kKnown) {
    if (known.name == name) {
      return Column{.kind = known.kind, .name = name, .resource = std::string(known.resource)};
    }
  }
  if (name == "ephemeral-storage" || name.find('/') != std::string::npos) {
    return Column{.kind = ColumnKind::kResource, .name = name, .resource = field.value};
  }
  // Only a name that is nearly one of these is taken for a slip of the pen.
  const std::string suggestion = Suggestion(name);
  if (suggestion.empty()) return Column{.kind = ColumnKind::kUnread, .name = field.value};
  return TraceError(
      line, field.column,
      ShownInMessage(field.value) +
          " is no column: expected submit, run, queue, priority, class, pods, user, "
          "walltime, status, cpu, memory, gpu or a resource such as example.com/device" +
          suggestion);
}

class CsvReader {
 public:
  Result<Trace> Read(std::string_view text) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
      text.remove_prefix(kByteOrderMark.size());
    }
    while (!text.empty()) {
      ++line_;
      BERTH_TRY(const std::string_view line, TakeTraceLine(text, line_));
      const std::string_view trimmed = TrimSpace(line);
      if (trimmed.empty() || trimmed.front() == '#') continue;
      BERTH_CHECK_OK(SplitCsvFields(line, line_, fields_));
      BERTH_CHECK_OK(columns_.empty() ? ReadHeader() : ReadRow());
    }
    if (columns_.empty()) {
      return TraceError(1, 1, "no header: expected a line such as submit,queue,pods,cpu,run");
    }
    return std::move(trace_);
  }

 private:
  Status ReadHeader() {
    for (const CsvField& field : fields_) {
      BERTH_TRY(Column column, ColumnOf(field, line_));
      if (column.kind == ColumnKind::kUnread) {
        if (!column.name.empty()) trace_.unread_columns.push_back(column.name);
        columns_.push_back(std::move(column));
        continue;
      }
      for (const Column& known : columns_) {
        const bool same = known.kind == column.kind && known.resource == column.resource;
        if (same) return TraceError(line_, field.column, column.name + " is there twice");
      }
      columns_.push_back(std::move(column));
    }
    for (const ColumnKind kind : {ColumnKind::kSubmit, ColumnKind::kRun}) {
      const bool found = std::any_of(columns_.begin(), columns_.end(),
                                     [kind](const Column& each) { return each.kind == kind; });
      if (found) continue;
      return TraceError(line_, 1,
                        std::string("the header has no column ") +
                            (kind == ColumnKind::kSubmit ? "submit" : "run"));
    }
    return OkStatus();
  }

  Status ReadRow() {
    // A comma at the end of the row.
    if (fields_.size() == columns_.size() + 1 && fields_.back().value.empty()) fields_.pop_back();
    if (fields_.size() != columns_.size()) {
      return TraceError(line_, fields_.back().column,
                        "the row has " + std::to_string(fields_.size()) + " fields, the header " +
                            std::to_string(columns_.size()));
    }
    BERTH_CHECK_OK(CheckJobCount(trace_, line_));
    TraceJob job;
    job.line = line_;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      BERTH_CHECK_OK(ReadField(columns_[i], fields_[i], job));
    }
    trace_.jobs.push_back(std::move(job));
    return OkStatus();
  }

  Error Wrong(const Column& column, const CsvField& field, const std::string& expected) const {
    return TraceError(line_, field.column,
                      column.name + ": " + ShownInMessage(field.value) + " is no " + expected);
  }

  Status ReadField(const Column& column, const CsvField& field, TraceJob& job) {
    switch (column.kind) {
      case ColumnKind::kSubmit: return ReadSubmit(column, field, job);
      case ColumnKind::kRun: return ReadRun(column, field, job);
      case ColumnKind::kQueue: job.queue = field.value; return OkStatus();
      case ColumnKind::kPriority: job.priority = field.value; return OkStatus();
      case ColumnKind::kPods: return ReadPods(column, field, job);
      case ColumnKind::kUser: job.user = field.value; return OkStatus();
      case ColumnKind::kWalltime: return ReadWalltime(column, field, job);
      case ColumnKind::kStatus: return ReadStatus(column, field, job);
      case ColumnKind::kResource: return ReadRequest(column, field, job);
      case ColumnKind::kUnread: return OkStatus();
    }
    return OkStatus();
  }

  Status ReadSubmit(const Column& column, const CsvField& field, TraceJob& job) {
    const std::optional<WallTime> time = ParseTraceTime(field.value);
    const std::optional<Duration> seconds = ParseSeconds(field.value);
    const bool in_range = !time || (time->time_since_epoch() >= Duration::zero() &&
                                    time->time_since_epoch() <= kMaxTraceTime);
    if ((!time && !seconds) || !in_range) {
      return Wrong(column, field, "number of seconds and no time such as 2026-01-31T08:00:00Z");
    }
    const bool is_time = time.has_value();
    if (times_.value_or(is_time) != is_time) {
      return TraceError(line_, field.column, "submit: seconds and times are mixed in one file");
    }
    times_ = is_time;
    job.submit = time ? time->time_since_epoch() : *seconds;
    return OkStatus();
  }

  Status ReadRun(const Column& column, const CsvField& field, TraceJob& job) {
    const std::optional<Duration> run = ParseRunTime(field.value);
    if (!run) {
      return Wrong(column, field,
                   "number of seconds and no duration such as 1h30m, 1d or 01:30:00");
    }
    job.run = *run;
    return OkStatus();
  }

  // A part of a second counts as a whole one: a Workload declares whole seconds.
  Status ReadWalltime(const Column& column, const CsvField& field, TraceJob& job) {
    if (field.value.empty()) return OkStatus();
    const std::optional<Duration> most = ParseRunTime(field.value);
    job.walltime = most ? WalltimeOf(*most) : std::nullopt;
    if (job.walltime) return OkStatus();
    return Wrong(column, field,
                 "declared maximum: expected seconds from 1 to 2147483647, a duration such as "
                 "1h30m, 1d or 01:30:00, or nothing");
  }

  Status ReadPods(const Column& column, const CsvField& field, TraceJob& job) {
    if (field.value.empty()) return OkStatus();
    const std::optional<std::int64_t> pods = ParseWhole(field.value, kMaxPods);
    if (!pods || *pods < 1) {
      return Wrong(column, field, "number of pods from 1 to " + std::to_string(kMaxPods));
    }
    job.pods = static_cast<std::int32_t>(*pods);
    return OkStatus();
  }

  Status ReadStatus(const Column& column, const CsvField& field, TraceJob& job) const {
    const std::string status = ToLower(field.value);
    job.failed = status == "failed";
    if (job.failed || status.empty() || status == "succeeded") return OkStatus();
    return Wrong(column, field, "status: expected succeeded or failed");
  }

  Status ReadRequest(const Column& column, const CsvField& field, TraceJob& job) {
    if (field.value.empty()) return OkStatus();
    const Result<api::Amount> amount = api::ParseAmount(column.resource, field.value);
    if (!amount || *amount < 0) {
      return Wrong(column, field, "quantity of 0 or more, such as 4, 500m or 16Gi");
    }
    if (*amount > 0) job.requests[column.resource] = *amount;
    return OkStatus();
  }

  std::int64_t line_ = 0;
  std::vector<Column> columns_;   // empty: the header is still to come
  std::vector<CsvField> fields_;  // the fields of the line
  std::optional<bool> times_;     // submit has times, not seconds
  Trace trace_;
};

}  // namespace

Result<Trace> ReadCsv(std::string_view text) { return CsvReader().Read(text); }

}  // namespace berth::simulation

// Two public traces of Alibaba's GPU clusters: the pods of 2023 (openb_pod_list_*.csv) and the
// tasks of 2020 (pai_task_table.csv). Source: github.com/alibaba/clusterdata, the README of each
// trace.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/strings.h"
#include "simulation/csv_fields.h"
#include "simulation/trace.h"

namespace berth::simulation {
namespace {

constexpr char kGpu[] = "nvidia.com/gpu";
constexpr api::Amount kMib = 1024 * 1024;
constexpr api::Amount kGib = 1024 * kMib;
constexpr double kPercentPerUnit = 100;
constexpr double kMilliPerCpuPercent = 10;
constexpr double kLargestRequest = 1e9;  // the limit of any column

constexpr std::array<std::string_view, 10> kTaskColumns{
    "job_name", "task_name", "inst_num", "status",   "start_time",
    "end_time", "plan_cpu",  "plan_mem", "plan_gpu", "gpu_type"};

// Rows with columns by name; the numbers of a row may be missing.
class AlibabaReader {
 public:
  AlibabaReader(std::vector<std::string> columns, std::vector<std::string_view> required)
      : columns_(std::move(columns)), required_(std::move(required)) {}
  virtual ~AlibabaReader() = default;

  Result<Trace> Read(std::string_view text) {
    while (!text.empty()) {
      ++line_;
      BERTH_TRY(const std::string_view line, TakeTraceLine(text, line_));
      if (TrimSpace(line).empty()) continue;
      BERTH_CHECK_OK(SplitCsvFields(line, line_, fields_));
      if (!begun_ && std::exchange(begun_, true) == false && IsHeader()) {
        BERTH_CHECK_OK(TakeHeader());
        continue;
      }
      if (columns_.empty()) return TraceError(line_, 1, "the trace has no header");
      BERTH_CHECK_OK(ReadRow());
    }
    return std::move(trace_);
  }

 protected:
  virtual bool IsHeader() const = 0;
  // Fills `job`; false: the row has no run.
  virtual Result<bool> Fill(TraceJob& job) = 0;

  const CsvField* Field(std::string_view name) const {
    const auto found = std::find(columns_.begin(), columns_.end(), name);
    if (found == columns_.end()) return nullptr;
    return &fields_[static_cast<std::size_t>(found - columns_.begin())];
  }
  std::string Word(std::string_view name) const {
    const CsvField* field = Field(name);
    return field == nullptr ? "" : field->value;
  }
  // nullopt: the field is empty, or the trace lacks the column.
  Result<std::optional<double>> Number(std::string_view name) const {
    const CsvField* field = Field(name);
    if (field == nullptr || field->value.empty()) return std::optional<double>();
    // Python writes missing numbers so.
    if (field->value == "nan" || field->value == "None") return std::optional<double>();
    const std::optional<Duration> read = ParseSeconds(field->value);
    if (read) return std::optional(std::chrono::duration<double>(*read).count());
    return TraceError(line_, field->column,
                      std::string(name) + ": " + ShownInMessage(field->value) + " is no number");
  }
  // Adds a request of `units` of the resource in its own unit; adds nothing for none.
  Status Request(const char* resource, std::string_view name, double unit, double rounding,
                 TraceJob& job) const {
    BERTH_TRY(const std::optional<double> number, Number(name));
    if (!number || *number == 0) return OkStatus();
    if (*number > kLargestRequest) {
      return TraceError(line_, Field(name)->column,
                        std::string(name) + ": the number is too large");
    }
    const double units = std::ceil(*number * unit / rounding) * rounding;
    job.requests[resource] = static_cast<api::Amount>(std::llround(units));
    return OkStatus();
  }
  Result<bool> Times(std::string_view begin, std::string_view end, TraceJob& job) const {
    BERTH_TRY(const std::optional<double> first, Number(begin));
    BERTH_TRY(const std::optional<double> last, Number(end));
    if (!first || !last || *last <= *first) return false;
    job.submit = *ParseSeconds(Field(begin)->value);
    job.run = *ParseSeconds(Field(end)->value) - job.submit;
    return true;
  }

  std::int64_t line_ = 0;

 private:
  Status TakeHeader() {
    columns_.clear();
    for (const CsvField& each : fields_) columns_.push_back(each.value);
    for (const std::string_view name : required_) {
      if (std::find(columns_.begin(), columns_.end(), name) != columns_.end()) continue;
      return TraceError(line_, 1, "the header has no column " + std::string(name));
    }
    return OkStatus();
  }

  Status ReadRow() {
    if (fields_.size() != columns_.size()) {
      return TraceError(line_, fields_.back().column,
                        "the row has " + std::to_string(fields_.size()) + " fields, expected " +
                            std::to_string(columns_.size()));
    }
    BERTH_CHECK_OK(CheckJobCount(trace_, line_));
    TraceJob job;
    job.line = line_;
    BERTH_TRY(const bool has_run, Fill(job));
    if (has_run) {
      trace_.jobs.push_back(std::move(job));
    } else {
      ++trace_.skipped;
    }
    return OkStatus();
  }

  std::vector<std::string> columns_;
  const std::vector<std::string_view> required_;
  std::vector<CsvField> fields_;
  bool begun_ = false;
  Trace trace_;
};

// A pod is a job. It runs from its placement to its deletion.
class PodListReader final : public AlibabaReader {
 public:
  PodListReader()
      : AlibabaReader(
            {}, {"name", "cpu_milli", "memory_mib", "num_gpu", "creation_time", "deletion_time"}) {}

 private:
  bool IsHeader() const override { return true; }

  Result<bool> Fill(TraceJob& job) override {
    BERTH_TRY(bool has_run, Times("creation_time", "deletion_time", job));
    TraceJob placed;
    BERTH_TRY(const bool is_placed, Times("scheduled_time", "deletion_time", placed));
    if (is_placed) job.run = placed.run;
    if (Field("scheduled_time") != nullptr && !is_placed) has_run = false;
    job.origin = Word("qos");
    job.failed = Word("pod_phase") == "Failed";
    BERTH_CHECK_OK(Request("cpu", "cpu_milli", 1, 1, job));
    BERTH_CHECK_OK(Request("memory", "memory_mib", static_cast<double>(kMib), 1, job));
    BERTH_CHECK_OK(Request(kGpu, "num_gpu", 1, 1, job));
    return has_run;
  }
};

// A task is a job with a pod for each instance. Parts of a GPU count as a whole one.
class TaskTableReader final : public AlibabaReader {
 public:
  TaskTableReader()
      : AlibabaReader({kTaskColumns.begin(), kTaskColumns.end()},
                      {"job_name", "inst_num", "start_time", "end_time", "plan_cpu", "plan_gpu"}) {}

 private:
  bool IsHeader() const override {
    const CsvField* first = Field("job_name");
    return first != nullptr && first->value == "job_name";
  }

  Result<bool> Fill(TraceJob& job) override {
    BERTH_TRY(const bool has_run, Times("start_time", "end_time", job));
    BERTH_TRY(const std::optional<double> pods, Number("inst_num"));
    if (pods &&
        (*pods < 1 || *pods > static_cast<double>(kMaxPods) || *pods != std::floor(*pods))) {
      return TraceError(line_, Field("inst_num")->column,
                        "inst_num: expected a whole number from 1 to " + std::to_string(kMaxPods));
    }
    job.pods = static_cast<std::int32_t>(pods.value_or(1));
    job.origin = Word("gpu_type");
    job.failed = Word("status") == "Failed";
    BERTH_CHECK_OK(Request("cpu", "plan_cpu", kMilliPerCpuPercent, 1, job));
    BERTH_CHECK_OK(Request("memory", "plan_mem", static_cast<double>(kGib), 1, job));
    BERTH_CHECK_OK(Request(kGpu, "plan_gpu", 1 / kPercentPerUnit, 1, job));
    return has_run;
  }
};

}  // namespace

Result<Trace> ReadAlibabaPods(std::string_view text) { return PodListReader().Read(text); }
Result<Trace> ReadAlibabaTasks(std::string_view text) { return TaskTableReader().Read(text); }

}  // namespace berth::simulation

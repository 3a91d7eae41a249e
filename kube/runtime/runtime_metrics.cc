#include "kube/runtime/runtime_metrics.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "api/metric_table.h"
#include "base/assert.h"
#include "kube/runtime/metrics_text.h"

namespace berth::kube {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::initializer_list<std::pair<const char*, std::string>>;

MetricType TypeOf(api::MetricKind kind) {
  switch (kind) {
    case api::MetricKind::kCounter: return MetricType::Counter;
    case api::MetricKind::kGauge: return MetricType::Gauge;
    case api::MetricKind::kHistogram: return MetricType::Histogram;
  }
  return MetricType::Untyped;
}

// The series of one metric, with its kind and help in the table of metrics.
class Family {
 public:
  explicit Family(std::string_view name) {
    const api::MetricRow* row = api::FindMetric(name);
    BERTH_ASSERT(row != nullptr);
    family_.name = name;
    family_.help = row->help;
    family_.type = TypeOf(row->kind);
  }

  void Add(Labels labels, double value) {
    ClientMetric& metric = New(labels);
    (family_.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  }
  void Add(Labels labels, const DurationCounts& counts) {
    ClientMetric& metric = New(labels);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < counts.bounds().size(); ++i) {
      sum += counts.counts()[i];
      metric.histogram.bucket.push_back({sum, counts.bounds()[i]});
    }
    metric.histogram.sample_count = sum + counts.counts().back();
    metric.histogram.sample_sum = counts.sum_seconds();
  }
  MetricFamily Take() { return std::move(family_); }

 private:
  ClientMetric& New(Labels labels) {
    ClientMetric& metric = family_.metric.emplace_back();
    for (const auto& [name, value] : labels) metric.label.push_back({name, value});
    return metric;
  }

  MetricFamily family_;
};

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

using FiguresByName = std::map<std::string, ControllerStats::Figures>;

void TakeAll(std::initializer_list<Family*> families, std::vector<MetricFamily>& out) {
  for (Family* family : families) out.push_back(family->Take());
}

void AddControllers(const FiguresByName& controllers, std::vector<MetricFamily>& out) {
  Family total("controller_runtime_reconcile_total");
  Family errors("controller_runtime_reconcile_errors_total");
  Family time("controller_runtime_reconcile_time_seconds");
  Family most("controller_runtime_max_concurrent_reconciles");
  Family active("controller_runtime_active_workers");
  for (const auto& [name, figures] : controllers) {
    const auto count = [&looks = figures.looks](LookResult result) {
      return static_cast<double>(looks[static_cast<std::size_t>(result)]);
    };
    total.Add({{"controller", name}, {"result", "error"}}, count(LookResult::kError));
    total.Add({{"controller", name}, {"result", "requeue_after"}},
              count(LookResult::kRequeueAfter));
    total.Add({{"controller", name}, {"result", "success"}}, count(LookResult::kSuccess));
    errors.Add({{"controller", name}}, count(LookResult::kError));
    time.Add({{"controller", name}}, figures.look_times);
    most.Add({{"controller", name}}, static_cast<double>(figures.max_concurrent));
    active.Add({{"controller", name}}, static_cast<double>(figures.begun.size()));
  }
  TakeAll({&total, &errors, &time, &most, &active}, out);
}

void AddQueues(const FiguresByName& controllers, SteadyTime now, std::vector<MetricFamily>& out) {
  Family depth("workqueue_depth");
  Family adds("workqueue_adds_total");
  Family retries("workqueue_retries_total");
  Family waited("workqueue_queue_duration_seconds");
  Family worked("workqueue_work_duration_seconds");
  Family unfinished("workqueue_unfinished_work_seconds");
  Family longest("workqueue_longest_running_processor_seconds");
  for (const auto& [name, figures] : controllers) {
    const Labels labels{{"controller", name}, {"name", name}};
    double sum = 0;
    for (const SteadyTime begun : figures.begun) sum += Seconds(now - begun);
    depth.Add(labels, static_cast<double>(figures.waiting));
    adds.Add(labels, static_cast<double>(figures.adds));
    retries.Add(labels, static_cast<double>(figures.retries));
    waited.Add(labels, figures.queue_times);
    worked.Add(labels, figures.look_times);
    unfinished.Add(labels, sum);
    longest.Add(labels, figures.begun.empty() ? 0 : Seconds(now - *figures.begun.begin()));
  }
  TakeAll({&depth, &adds, &retries, &waited, &worked, &unfinished, &longest}, out);
}

// The words of /proc/self/stat behind the program's name, which may have spaces; "state" is first.
std::vector<double> StatWords() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream words(text.substr(std::min(text.rfind(')') + 1, text.size())));
  std::string state;
  words >> state;
  std::vector<double> numbers{0};
  for (double number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

double BootSeconds() {
  std::ifstream file("/proc/stat");
  for (std::string word; file >> word;) {
    double seconds = 0;
    if (word == "btime" && file >> seconds) return seconds;
  }
  return 0;
}

void AddProcess(std::vector<MetricFamily>& out) {
  const auto add = [&out](const char* name, double value) {
    Family family(name);
    family.Add({}, value);
    out.push_back(family.Take());
  };
  // proc(5) counts from 1: the state is field 3.
  constexpr std::size_t kUser = 14 - 3;
  constexpr std::size_t kSystem = 15 - 3;
  constexpr std::size_t kStart = 22 - 3;
  constexpr std::size_t kVirtual = 23 - 3;
  constexpr std::size_t kResident = 24 - 3;
  const std::vector<double> stat = StatWords();
  if (stat.size() > kResident) {
    const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
    add("process_cpu_seconds_total", (stat[kUser] + stat[kSystem]) / ticks);
    add("process_resident_memory_bytes", stat[kResident] * page);
    add("process_virtual_memory_bytes", stat[kVirtual]);
    if (const double boot = BootSeconds(); boot > 0) {
      add("process_start_time_seconds", boot + stat[kStart] / ticks);
    }
  }
  std::error_code error;
  double open = 0;
  for (std::filesystem::directory_iterator file("/proc/self/fd", error), end; !error && file != end;
       file.increment(error)) {
    ++open;
  }
  if (!error) add("process_open_fds", open);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    add("process_max_fds", static_cast<double>(limit.rlim_cur));
  }
}

}  // namespace

std::string RuntimeMetricsText(const RuntimeStats& stats, const RuntimeMetricsOptions& options,
                               bool is_leader) {
  std::vector<MetricFamily> families;
  const FiguresByName controllers = stats.Controllers();
  AddControllers(controllers, families);
  AddQueues(controllers, stats.Now(), families);
  Family requests("rest_client_requests_total");
  for (const auto& [request, count] : stats.Requests()) {
    const auto& [method, code] = request;
    requests.Add({{"code", code}, {"host", options.host}, {"method", method}},
                 static_cast<double>(count));
  }
  families.push_back(requests.Take());
  if (!options.lease.empty()) {
    Family leader("leader_election_master_status");
    leader.Add({{"name", options.lease}}, is_leader ? 1 : 0);
    families.push_back(leader.Take());
  }
  AddProcess(families);
  return MetricsText(families);
}

}  // namespace berth::kube

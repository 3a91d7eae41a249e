#include "kube/runtime/runtime_metrics.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "kube/runtime/metrics_text.h"

namespace berth::kube {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::initializer_list<std::pair<const char*, std::string>>;

class Family {
 public:
  Family(const char* name, const char* help, MetricType type) {
    family_.name = name;
    family_.help = help;
    family_.type = type;
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
  Family total("controller_runtime_reconcile_total", "Reconciliations per controller",
               MetricType::Counter);
  Family errors("controller_runtime_reconcile_errors_total",
                "Reconciliations per controller that failed", MetricType::Counter);
  Family time("controller_runtime_reconcile_time_seconds",
              "Length of time per reconciliation per controller", MetricType::Histogram);
  Family most("controller_runtime_max_concurrent_reconciles",
              "Reconciliations that a controller may run at once", MetricType::Gauge);
  Family active("controller_runtime_active_workers", "Reconciliations under way per controller",
                MetricType::Gauge);
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
  Family depth("workqueue_depth", "Keys that wait in the queue", MetricType::Gauge);
  Family adds("workqueue_adds_total", "Keys added to the queue", MetricType::Counter);
  Family retries("workqueue_retries_total", "Retries of the queue", MetricType::Counter);
  Family waited("workqueue_queue_duration_seconds", "How long a key waits before its work begins",
                MetricType::Histogram);
  Family worked("workqueue_work_duration_seconds", "How long the work on a key takes",
                MetricType::Histogram);
  Family unfinished("workqueue_unfinished_work_seconds",
                    "Sum of the ages of the work that is under way", MetricType::Gauge);
  Family longest("workqueue_longest_running_processor_seconds",
                 "Age of the oldest work that is under way", MetricType::Gauge);
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
  const auto add = [&out](const char* name, const char* help, MetricType type, double value) {
    Family family(name, help, type);
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
    add("process_cpu_seconds_total", "Processor time, user and system, in seconds",
        MetricType::Counter, (stat[kUser] + stat[kSystem]) / ticks);
    add("process_resident_memory_bytes", "Resident memory in bytes", MetricType::Gauge,
        stat[kResident] * page);
    add("process_virtual_memory_bytes", "Virtual memory in bytes", MetricType::Gauge,
        stat[kVirtual]);
    if (const double boot = BootSeconds(); boot > 0) {
      add("process_start_time_seconds", "Start of the process, in seconds since 1970",
          MetricType::Gauge, boot + stat[kStart] / ticks);
    }
  }
  std::error_code error;
  double open = 0;
  for (std::filesystem::directory_iterator file("/proc/self/fd", error), end; !error && file != end;
       file.increment(error)) {
    ++open;
  }
  if (!error) add("process_open_fds", "Open file descriptors", MetricType::Gauge, open);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    add("process_max_fds", "File descriptors that may be open", MetricType::Gauge,
        static_cast<double>(limit.rlim_cur));
  }
}

}  // namespace

std::string RuntimeMetricsText(const RuntimeStats& stats, const RuntimeMetricsOptions& options,
                               bool is_leader) {
  std::vector<MetricFamily> families;
  const FiguresByName controllers = stats.Controllers();
  AddControllers(controllers, families);
  AddQueues(controllers, stats.Now(), families);
  Family requests("rest_client_requests_total",
                  "Requests to the API server, by code, method and host", MetricType::Counter);
  for (const auto& [request, count] : stats.Requests()) {
    const auto& [method, code] = request;
    requests.Add({{"code", code}, {"host", options.host}, {"method", method}},
                 static_cast<double>(count));
  }
  families.push_back(requests.Take());
  if (!options.lease.empty()) {
    Family leader("leader_election_master_status", "Whether this process holds the lease",
                  MetricType::Gauge);
    leader.Add({{"name", options.lease}}, is_leader ? 1 : 0);
    families.push_back(leader.Take());
  }
  AddProcess(families);
  return MetricsText(families);
}

}  // namespace berth::kube

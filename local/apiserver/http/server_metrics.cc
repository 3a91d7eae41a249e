#include "local/apiserver/http/server_metrics.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "base/architecture.h"
#include "base/strings.h"

namespace berth::local {
namespace {

// Fields of /proc/self/stat, as proc(5) counts.
constexpr std::size_t kStartField = 22;
constexpr std::size_t kVirtualField = 23;
constexpr std::size_t kResidentField = 24;
constexpr std::size_t kFirstField = 3;  // the first behind the program's name

void WriteObjects(ExpositionText& text, const Registry& registry) {
  const auto counts = registry.store().cache().Counts();
  text.Family("apiserver_storage_objects", "gauge",
              "[DEPRECATED, consider using apiserver_resource_objects instead] Number of stored "
              "objects split by kind.");
  for (const auto& [resource, count] : counts) {
    text.Sample("apiserver_storage_objects", {{"resource", resource}}, std::uint64_t{count});
  }
  text.Family("apiserver_resource_objects", "gauge", "Number of stored objects split by kind.");
  for (const auto& [resource, count] : counts) {
    const std::size_t dot = resource.find('.');
    const std::string group = dot == std::string::npos ? "" : resource.substr(dot + 1);
    text.Sample("apiserver_resource_objects",
                {{"group", group}, {"resource", std::string_view(resource).substr(0, dot)}},
                std::uint64_t{count});
  }
}

// Writes no metric without a series.
void WriteCounts(ExpositionText& text, const char* name, const char* help,
                 const std::vector<std::string_view>& labels,
                 const std::map<WebhookMetrics::LabelValues, std::uint64_t>& counts) {
  if (!counts.empty()) text.Family(name, "counter", help);
  for (const auto& [values, count] : counts) {
    ExpositionText::LabelList pairs;
    for (std::size_t i = 0; i < labels.size(); ++i) pairs.emplace_back(labels[i], values[i]);
    text.Sample(name, pairs, count);
  }
}

void WriteWebhooks(ExpositionText& text, const WebhookMetrics::Counts& counts) {
  constexpr const char* kSeconds = "apiserver_admission_webhook_admission_duration_seconds";
  if (!counts.seconds.empty()) {
    text.Family(kSeconds, "histogram",
                "Time of calls of admission webhooks in seconds, by webhook, operation and type "
                "(validating or admit).");
  }
  for (const auto& [values, seconds] : counts.seconds) {
    text.Histogram(kSeconds,
                   {{"name", values[0]},
                    {"operation", values[1]},
                    {"rejected", values[2]},
                    {"type", values[3]}},
                   WebhookMetrics::kBounds, seconds.counts, seconds.sum);
  }
  WriteCounts(text, "apiserver_admission_webhook_request_total",
              "Calls of admission webhooks, by webhook, operation, type and code of the answer; "
              "codes over 600 count as 600.",
              {"code", "name", "operation", "rejected", "type"}, counts.requests);
  WriteCounts(text, "apiserver_admission_webhook_rejection_count",
              "Requests that admission webhooks rejected, by webhook, operation, type, error and "
              "code; codes over 600 count as 600.",
              {"error_type", "name", "operation", "rejection_code", "type"}, counts.rejections);
  WriteCounts(text, "apiserver_admission_webhook_fail_open_count",
              "Failed calls of admission webhooks that were passed over, by webhook and type.",
              {"name", "type"}, counts.failed_open);
}

std::string FileText(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

double BootTime() {
  const std::string stat = FileText("/proc/stat");
  for (const std::string_view line : Split(stat, '\n')) {
    constexpr std::string_view kBoot = "btime ";
    if (!line.starts_with(kBoot)) continue;
    return static_cast<double>(ParseInt64(line.substr(kBoot.size())).value_or(0));
  }
  return 0;
}

std::size_t CountFiles() {
  std::error_code error;
  std::size_t count = 0;
  std::filesystem::directory_iterator files("/proc/self/fd", error);
  for (; !error && files != std::filesystem::directory_iterator(); files.increment(error)) ++count;
  return count;
}

void Gauge(ExpositionText& text, const char* name, const char* help, double value) {
  text.Family(name, "gauge", help);
  text.Sample(name, {}, value);
}

void WriteProcess(ExpositionText& text) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  text.Family("process_cpu_seconds_total", "counter",
              "Total user and system CPU time spent in seconds.");
  text.Sample("process_cpu_seconds_total", {}, seconds(usage.ru_utime) + seconds(usage.ru_stime));
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  Gauge(text, "process_max_fds", "Maximum number of open file descriptors.",
        static_cast<double>(files.rlim_cur));
  Gauge(text, "process_open_fds", "Number of open file descriptors.",
        static_cast<double>(CountFiles()));
  const std::string stat = FileText("/proc/self/stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return;
  const auto fields = Split(std::string_view(stat).substr(name_end + 2), ' ');
  if (fields.size() <= kResidentField - kFirstField) return;
  const auto number = [&](std::size_t field) {
    return static_cast<double>(ParseInt64(fields[field - kFirstField]).value_or(0));
  };
  Gauge(text, "process_resident_memory_bytes", "Resident memory size in bytes.",
        number(kResidentField) * static_cast<double>(sysconf(_SC_PAGESIZE)));
  Gauge(text, "process_start_time_seconds",
        "Start time of the process since unix epoch in seconds.",
        BootTime() + number(kStartField) / static_cast<double>(sysconf(_SC_CLK_TCK)));
  Gauge(text, "process_virtual_memory_bytes", "Virtual memory size in bytes.",
        number(kVirtualField));
}

}  // namespace

std::string ServerMetrics(const RequestMetrics& requests, const Registry& registry,
                          const std::string& version) {
  ExpositionText text;
  requests.WriteTo(text);
  WriteObjects(text, registry);
  WriteWebhooks(text, registry.webhook_metrics().counts());
  text.Family(
      "kubernetes_build_info", "gauge",
      "A metric with a constant '1' value labeled by major, minor, git version, git commit, "
      "git tree state, build date, Go version, and compiler from which Kubernetes was "
      "built, and platform on which it is running.");
  text.Sample("kubernetes_build_info",
              {{"build_date", "1970-01-01T00:00:00Z"},
               {"compiler", "c++"},
               {"git_commit", ""},
               {"git_tree_state", "clean"},
               {"git_version", version},
               {"go_version", "none"},
               {"major", "1"},
               {"minor", "36"},
               {"platform", kPlatform}},
              std::uint64_t{1});
  WriteProcess(text);
  return text.text();
}

}  // namespace berth::local

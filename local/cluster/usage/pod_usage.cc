#include "local/cluster/usage/pod_usage.h"

#include <algorithm>

namespace berth::local::cluster {
namespace {

// A process whose time is below that of the earlier reading has an ended process' number.
Duration TimeBetween(const ContainerReading* before, const ContainerReading& now) {
  Duration used{};
  for (const auto& [process, time] : now.time_by_process) {
    Duration earlier{};
    if (before != nullptr) {
      const auto found = before->time_by_process.find(process);
      if (found != before->time_by_process.end() && found->second <= time) earlier = found->second;
    }
    used += time - earlier;
  }
  return used;
}

}  // namespace

std::map<std::string, PodUsage> UsageBetween(const UsageReading& before, const UsageReading& now) {
  std::map<std::string, PodUsage> usage;
  for (const auto& [key, reading] : now.containers) {
    const auto found = before.containers.find(key);
    const bool is_new_run =
        found == before.containers.end() || found->second.started_at != reading.started_at;
    const WallTime since = is_new_run ? reading.started_at : before.at;
    const Duration window = std::max(now.at - since, Duration(1));
    const Duration used = TimeBetween(is_new_run ? nullptr : &found->second, reading);
    PodUsage& pod = usage[key.first];
    pod.window = std::max(pod.window, window);
    // The processes' clock ticks in hundredths of a second: a mean of a short window may seem to
    // exceed the machine by a tick for each process.
    pod.by_container[key.second] = {
        static_cast<std::int64_t>(static_cast<double>(used.count()) * 1e9 /
                                  static_cast<double>(window.count())),
        reading.resident_bytes};
  }
  return usage;
}

}  // namespace berth::local::cluster

// local/cluster/usage/pod_usage.h — the processor time and memory that the programs of pods use,
// from two readings of their processes.
//
//     reading ──(some seconds)──▶ reading  --UsageBetween-->  cores and bytes of each container
//
// Pure. Units: cores in nanocores (10⁻⁹ of a processor), memory in bytes of resident pages; pages
// that processes share count once for each of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/clock.h"

namespace berth::local::cluster {

struct ContainerReading {
  WallTime started_at;
  std::map<int, Duration> time_by_process;  // user and system time since the process' start
  std::int64_t resident_bytes = 0;
};

// Readings by the pod's uid and the container's name.
using ContainerReadings = std::map<std::pair<std::string, std::string>, ContainerReading>;

struct UsageReading {
  WallTime at;
  ContainerReadings containers;
};

struct ContainerUsage {
  std::int64_t nanocores = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const ContainerUsage&, const ContainerUsage&) = default;
};

struct PodUsage {
  Duration window{};  // the usage is the mean of this time, which ends with the later reading
  std::map<std::string, ContainerUsage> by_container;
  friend bool operator==(const PodUsage&, const PodUsage&) = default;
};

// The usage of the pods in `now`, by uid. The window of a container that started after `before`
// begins with its start. A process that has ended in between is not counted.
std::map<std::string, PodUsage> UsageBetween(const UsageReading& before, const UsageReading& now);

}  // namespace berth::local::cluster

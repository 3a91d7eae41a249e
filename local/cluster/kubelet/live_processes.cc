#include "local/cluster/kubelet/live_processes.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <sys/types.h>

#include "local/cluster/processes/pod_processes.h"

namespace berth::local::cluster {
namespace {

std::string TextOf(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

UsageReading LiveProcesses::ReadUsage(WallTime now) const {
  UsageReading reading{.at = now, .containers = {}};
  std::set<pid_t> leaders;
  std::map<pid_t, ContainerReading*> reading_by_leader;
  const auto add = [&](ProcessId process, ContainerReading* container) {
    const int id = runner_.SystemId(process);
    if (id <= 0) return;
    leaders.insert(id);
    reading_by_leader[id] = container;
  };
  for (const auto& [uid, live] : pods_) {
    for (const auto& [at, process] : live.processes) {
      const ContainerRun& run = live.run.containers[at];
      ContainerReading& container = reading.containers[{uid, run.name}];
      container.started_at = run.started_at.value_or(reading.at);
      add(process, &container);
      for (const ProcessId beside : streams_.ProgramsBeside({uid, at})) add(beside, &container);
    }
  }
  if (leaders.empty()) return reading;
  for (const auto& [leader, processes] : ProcessesOf(leaders, AllProcesses())) {
    ContainerReading& container = *reading_by_leader.at(leader);
    for (const ProcessEntry& process : processes) {
      container.time_by_process[process.id] = process.processor_time;
      container.resident_bytes += process.resident_bytes;
    }
  }
  return reading;
}

ApiResult<std::string> LiveProcesses::FindPort(const PodPlace& place, std::uint16_t port) const {
  const auto found = pods_.find(place.pod_uid);
  if (found == pods_.end() || found->second.processes.empty()) {
    return StreamRefusal(fmt::format("pod {} is not running", place.pod));
  }
  const LivePod& live = found->second;
  std::set<pid_t> leaders;
  for (const auto& [at, process] : live.processes) {
    if (const int id = runner_.SystemId(process); id > 0) leaders.insert(id);
  }
  for (const ProcessId process : streams_.ProgramsBesideAll(place.pod_uid)) {
    if (const int id = runner_.SystemId(process); id > 0) leaders.insert(id);
  }
  std::set<std::string> sockets = ListeningSockets(TextOf("/proc/net/tcp"), live.run.address, port);
  sockets.merge(ListeningSockets(TextOf("/proc/net/tcp6"), live.run.address, port));
  for (const auto& [leader, processes] : ProcessesOf(leaders, AllProcesses())) {
    if (HasSocket(processes, sockets)) return live.run.address;
  }
  return StreamRefusal(fmt::format("no program of pod {} listens on port {}", place.pod, port));
}

}  // namespace berth::local::cluster

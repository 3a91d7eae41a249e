// The executor's part in metrics.k8s.io.
#include "local/cluster/pod_executor.h"
#include "local/cluster/pod_processes.h"

namespace berth::local::cluster {

// Programs of exec count to the container beside whose program they run.
UsageReading PodExecutor::ReadUsage() const {
  UsageReading reading{.at = services_.clock.Now(), .containers = {}};
  std::set<pid_t> leaders;
  std::map<pid_t, ContainerReading*> reading_by_leader;
  const auto add = [&](ProcessId process, ContainerReading* container) {
    const int id = process == 0 ? 0 : services_.runner.SystemId(process);
    if (id <= 0) return;
    leaders.insert(id);
    reading_by_leader[id] = container;
  };
  for (const auto& [uid, live] : live_by_uid_) {
    for (const auto& [at, process] : live.processes) {
      const ContainerRun& run = live.run.containers[at];
      ContainerReading& container = reading.containers[{uid, run.name}];
      container.started_at = run.started_at.value_or(reading.at);
      add(process, &container);
      const auto sessions = streams_.find({uid, at});
      if (sessions == streams_.end()) continue;
      for (const auto& [session, beside] : sessions->second) add(beside, &container);
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

}  // namespace berth::local::cluster

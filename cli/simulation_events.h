// cli/simulation_events.h — the events of a simulated run as JSON lines, for `berth simulate
// --events`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "simulation/cluster_objects.h"
#include "simulation/jobs.h"
#include "simulation/nodes.h"
#include "simulation/world.h"

namespace berth::cli {

// Keeps the events of jobs in memory, 48 bytes each without flavors and nodes.
//
// Threads: one.
class SimulationEvents {
 public:
  // Call it from WorldOptions::on_event.
  void Note(const simulation::WorldEvent& event);

  // Writes a line for each event of jobs and nodes, by time; docs/guide/simulate.md has the fields.
  // `result` is that of the run. kInvalid: the file cannot be written.
  Status Write(const std::string& file, const simulation::Cluster& cluster,
               const std::vector<simulation::Job>& jobs,
               const std::vector<simulation::NodePool>& pools,
               const simulation::WorldResult& result) const;

 private:
  struct Noted {
    Duration at{};
    std::size_t job = 0;
    simulation::WorldEvent::Kind kind{};
    std::size_t start = 0;                 // for kStarted: the index in starts_
    std::optional<std::size_t> preemptor;  // for kPreempted: the preempting job
  };
  struct Start {
    std::vector<std::string> flavors;  // each once, by name
    std::vector<simulation::NodeId> nodes;
  };

  std::vector<Noted> events_;
  std::vector<Start> starts_;
};

}  // namespace berth::cli

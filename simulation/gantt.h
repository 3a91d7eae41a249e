// simulation/gantt.h — what ran where: bars of runs on nodes, or on LocalQueues without node pools.
//
// Bounded: rows, lanes of a row and bars that exceed the limits are left out and counted.
//
// Units: microseconds as of WorldResult. Threads: pure functions. Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulation/timeline.h"

namespace berth::simulation {

struct GanttBar {
  Duration start{};
  Duration end{};
  std::size_t lane = 0;   // bars of one lane do not overlap
  std::int64_t line = 0;  // the line of the job in the workload
  std::string local_queue;
  std::string cluster_queue;
  bool finished = false;  // false: preempted, or it goes on at the end
};

struct GanttRow {
  std::string name;              // "POOL-NUMBER", or the LocalQueue
  std::optional<NodeLife> node;  // nullopt: a LocalQueue
  std::size_t lanes = 0;
  std::vector<GanttBar> bars;  // by start
};

struct Gantt {
  std::vector<GanttRow> rows;  // nodes by the time of their making, LocalQueues by name
  std::size_t more_rows = 0;   // left out
  std::size_t more_bars = 0;   // left out of the shown rows
};

struct GanttLimits {
  std::size_t rows = 48;
  std::size_t lanes = 8;  // the most lanes of a row
  std::size_t bars = 4000;
};

// Arguments as of MakeTimeline.
Gantt MakeGantt(const Cluster& cluster, const std::vector<Job>& jobs,
                const std::vector<NodePool>& pools, const WorldResult& result,
                const std::vector<JobRun>& runs, const GanttLimits& limits = {});

}  // namespace berth::simulation

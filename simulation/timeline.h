// simulation/timeline.h — a run of the world over time, for pictures.
//
// A RunRecorder listens to the world and keeps the runs of jobs. MakeTimeline makes series of equal
// steps of them: each value is the mean over its step. The cost is linear in runs and nodes,
// whatever the number of steps.
//
// Units: times are microseconds as of WorldResult; amounts as in simulation/run_report.h (CPUs,
// GPUs, GiB); waits in seconds. Threads: one. Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simulation/cluster_objects.h"
#include "simulation/jobs.h"
#include "simulation/nodes.h"
#include "simulation/world.h"

namespace berth::simulation {

// From a start to the end or the preemption that ends the run.
struct JobRun {
  std::size_t job = 0;
  Duration start{};
  Duration end{};
  bool finished = false;  // false: preempted, or it goes on at the end of the world
  Duration placed{};      // when its pods got their nodes; `start` where they were ready
  // If there are node pools: each node once, and how many pods of the run it has.
  std::vector<std::pair<NodeId, std::int64_t>> nodes;
};

class RunRecorder {
 public:
  // Call it from WorldOptions::on_event.
  void Note(const WorldEvent& event);
  // In the order of their starts. Runs that go on end at `end`.
  std::vector<JobRun> Take(Duration end);

 private:
  std::vector<JobRun> runs_;
  std::map<std::size_t, std::size_t> open_;  // index of the run by job
};

struct Series {
  std::string name;
  std::vector<double> values;  // one for each step
};

struct Timeline {
  Duration end{};               // all series begin at 0
  std::vector<double> waiting;  // jobs that are submitted and do not run
  std::vector<double> in_use;   // amount of the resource that all runs use
  // The amount of the resource on nodes that exist, booting nodes included; empty: no node pools.
  std::vector<double> of_nodes;
  std::vector<Series> shares;  // in use by ClusterQueue, the largest first, the rest as "others"
  std::vector<double> waits;   // waits of the jobs that started, rising
};

struct TimelineOptions {
  std::string resource;  // the resource whose use is shown
  std::size_t steps = 240;
  std::size_t queues = 7;  // queues that have a series of their own
};

// `runs` and `result` are of one run of `jobs` on `cluster` with `pools`.
Timeline MakeTimeline(const Cluster& cluster, const std::vector<Job>& jobs,
                      const std::vector<NodePool>& pools, const WorldResult& result,
                      const std::vector<JobRun>& runs, const TimelineOptions& options);

}  // namespace berth::simulation

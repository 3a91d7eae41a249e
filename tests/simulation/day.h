// tests/simulation/day.h — small clusters and days for tests of simulation/.
//
// Threads: one. Errors: a workload that does not fit is a failure of the test, and no jobs.
#pragma once

#include <string>
#include <vector>

#include "simulation/cluster_objects.h"
#include "simulation/jobs.h"
#include "simulation/timeline.h"
#include "simulation/world.h"

namespace berth::simulation {

// A ClusterQueue with `cpus` CPUs of the flavor "default", and a LocalQueue of its name in the
// namespace "team". A queue in a cohort reclaims from any other; jobs of lower priority give way.
api::ClusterQueue& AddQueue(Cluster& cluster, const std::string& name, int cpus,
                            const std::string& cohort = "");
// Has the flavor "default" and the priority classes low (-10) and high (100).
Cluster EmptyCluster();

// Prepares the cluster, binds the rows of `csv` and runs them.
struct Day {
  Cluster cluster;
  std::vector<Job> jobs;
  std::vector<std::string> notes;
  std::vector<std::string> events;  // "100 start 1": seconds, what, index of the job
  WorldResult result;
  std::vector<JobRun> runs;
};
Day Play(Cluster cluster, const std::string& csv, Duration wake_up_batch = Duration::zero(),
         const std::vector<NodePool>& pools = {});

}  // namespace berth::simulation

// simulation/node_charges.h — the jobs to which the time of nodes is charged.
//
//     RunRecorder: runs on nodes ──┐
//     WorldResult: lives of nodes ─┴─ChargesOf──▶ node time by job and pool
//
// While jobs have pods on a node, its time is divided among them by the largest part of the node
// that the pods of each request. The boot of a node and its time until the first run are charged to
// its first job, the time without pods after a run to the job that ran there last, as `charged` of
// the ledger does (ledger/accounts.h). Nodes on which no job ran are charged to no job.
//
// Units: seconds. Threads: pure functions. Errors: none.
#pragma once

#include <cstddef>
#include <vector>

#include "simulation/jobs.h"
#include "simulation/nodes.h"
#include "simulation/timeline.h"
#include "simulation/world.h"

namespace berth::simulation {

struct NodeTime {
  std::size_t pool = 0;  // index in the pools
  double seconds = 0;    // seconds of one whole node
};

// By job; a job has each pool once, and none where it never ran. Empty: no pools.
using Charges = std::vector<std::vector<NodeTime>>;

// `runs` and `result` are of one run of `jobs` with `pools`. The cost is n log n in the nodes that
// the runs took.
Charges ChargesOf(const std::vector<Job>& jobs, const std::vector<NodePool>& pools,
                  const WorldResult& result, const std::vector<JobRun>& runs);

}  // namespace berth::simulation

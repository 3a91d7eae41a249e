// simulation/tuning.h — policies of queues (api/queue_policy.h) to try on a workload, and the one
// to propose.
//
// Units: as run_report.h. Threads: pure functions. Errors: none.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "api/object_meta.h"
#include "simulation/cluster_objects.h"
#include "simulation/run_report.h"

namespace berth::simulation {

struct PolicyTrial {
  std::string name;            // "ShortestFirst, places auto"
  api::StringMap annotations;  // each ClusterQueue gets them
  Figures figures;             // all jobs together
};

// The policies to try; the first changes nothing.
std::vector<PolicyTrial> PolicyTrials();
// The cluster with the trial's annotations on each ClusterQueue, in place of those that it has.
Cluster WithPolicy(Cluster cluster, const PolicyTrial& trial);

// Returns the index of the acceptable trial with the least mean wait; nullopt: keep the present
// policy, because none is acceptable, or the least mean wait is not below kWorthwhile of the first
// trial's. A trial is acceptable if no more jobs stay unfinished than in the first trial, and if
// the wait that 99 of 100 jobs do not exceed, and the unit-hours of `resource` that preemptions
// destroy, are at most kTolerance of the first trial's.
inline constexpr double kTolerance = 1.1;
inline constexpr double kWorthwhile = 0.95;
std::optional<std::size_t> ProposedTrial(const std::vector<PolicyTrial>& trials,
                                         const std::string& resource);

}  // namespace berth::simulation

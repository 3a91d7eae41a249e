// scenarios/played_jobs.h — the jobs of a trace in the whole of Berth, in virtual time: what
// simulation/world.h plays with the scheduler alone, with every part of `berth up`.
//
//     objects ──apply──▶ SimWorld: API server, webhooks, Job controller, binder, emulated cloud,
//     jobs ──at their times──▶     all controllers  ──watch──▶  starts, ends, nodes: WorldResult
//
// Each job is a batch/v1 Job whose pods take its run time. A run begins when all its pods run or
// have succeeded, and ends when the Job is complete. A run that loses a pod before that, because
// the cloud took the machine back or the Workload was evicted, begins anew. The NodePools among the
// objects make the nodes, so admission checks, queued provisioning, stock, evictions of spot
// machines and topologies count.
//
// The run ends when all jobs are complete, or when nothing runs and nothing has begun or ended for
// kPatience. Equal input gives equal results. A job costs milliseconds, with its pods and nodes.
//
// Units: as simulation/world.h; WorldResult::cycles and decisions are 0. Threads: one.
// Errors: kInvalid: an object is refused, with its kind and name; kUnavailable: no scratch folder.
#pragma once

#include <functional>
#include <vector>

#include <nlohmann/json.hpp>

#include "admission/controller/configuration/configuration.h"
#include "base/clock.h"
#include "base/result.h"
#include "simulation/cluster_objects.h"
#include "simulation/jobs.h"
#include "simulation/nodes.h"
#include "simulation/world.h"

namespace berth::scenarios {

inline constexpr Duration kPatience = std::chrono::hours(24);

struct PlayOptions {
  // Queues, flavors, checks, policies, topologies, Nodes, NodePools: applied in this order,
  // Namespaces first. Fields that the API server owns are taken out; other kinds are skipped.
  std::vector<nlohmann::json> objects;
  admission::Configuration configuration;
  std::vector<simulation::NodePool> pools;                      // the NodePools among the objects
  std::function<void(const simulation::WorldEvent&)> on_event;  // null: events are not reported
};

// `cluster` and `jobs` are those of simulation/jobs.h, with the queues among the objects.
Result<simulation::WorldResult> PlayJobs(const simulation::Cluster& cluster,
                                         const std::vector<simulation::Job>& jobs,
                                         const PlayOptions& options);

}  // namespace berth::scenarios

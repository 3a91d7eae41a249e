// admission/controller/standing.h — how queues and cohorts stand in the scheduler, for status and
// metrics.
//
// Threads: the scheduler's. Errors: none; what is unknown there is empty.
#pragma once

#include <optional>
#include <string>

#include "admission/controller/queue_metrics.h"
#include "admission/scheduler.h"

namespace berth::admission {

PendingPosition PlaceOf(const Scheduler& scheduler, const std::string& cluster_queue);

// Without its share; nullopt: nobody names the cohort any more.
std::optional<CohortStanding> StandingOfCohort(const Scheduler& scheduler, const std::string& name);

// "a -> b -> a" where a node's cohorts are one another's ancestors; else empty.
std::string CycleAbove(const ClusterState& state, NodeId node);

// The history of a LocalQueue, sampled if that is due; nullopt: none is kept.
std::optional<api::ConsumedUsage> ConsumedUsageOf(Scheduler& scheduler,
                                                  const api::ObjectKey& local_queue, WallTime now);

}  // namespace berth::admission

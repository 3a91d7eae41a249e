// admission/controller/queues/queue_figures.h — the scheduler's figures of queues and cohorts, for
// status and metrics.
//
// Threads: the scheduler's. Errors: none; an object unknown to the scheduler gives an empty answer.
#pragma once

#include <optional>
#include <string>

#include "admission/controller/metrics/queue_metrics.h"
#include "admission/scheduler.h"

namespace berth::admission {

// The share and the admitted workloads are not filled in.
QueueFigures FiguresOf(const Scheduler& scheduler, const std::string& cluster_queue);

// The share is not filled in; nullopt: no object names the cohort.
std::optional<CohortStanding> StandingOfCohort(const Scheduler& scheduler, const std::string& name);

// "a -> b -> a" where cohorts above the node form a cycle; else empty.
std::string CycleAbove(const ClusterState& state, NodeId node);

// The history of a LocalQueue, after sampling it if a sample is due; nullopt: it has none.
std::optional<api::ConsumedUsage> ConsumedUsageOf(Scheduler& scheduler,
                                                  const api::ObjectKey& local_queue, WallTime now);

}  // namespace berth::admission

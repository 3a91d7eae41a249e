// admission/pending_order.h — the workloads that wait in a queue, in the order in which the
// scheduler tries them.
//
// The positions of a LocalQueue count its own workloads. Costs the number of workloads that wait in
// the ClusterQueue, times its logarithm.
//
// Threads: the scheduler's. Errors: nullopt: no such queue.
// Source: Kueue pkg/visibility (limit and offset), KEP-168-2.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "admission/scheduler.h"
#include "api/visibility.h"

namespace berth::admission {

// `page`: a negative offset counts as 0, a limit outside 0..api::kMostPendingWorkloads as the
// nearest of these.
std::optional<std::vector<api::PendingWorkload>> PendingInClusterQueue(const Scheduler& scheduler,
                                                                       const std::string& name,
                                                                       api::PendingPage page);
std::optional<std::vector<api::PendingWorkload>> PendingInLocalQueue(const Scheduler& scheduler,
                                                                     const api::ObjectKey& key,
                                                                     api::PendingPage page);

}  // namespace berth::admission

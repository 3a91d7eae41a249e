// admission/policies/queue_past.h — what past workloads tell the policies of queues: run times and
// waits. ClusterQueues have the numbers of one scheduler.
//
// Threads: one. Errors: none.
#pragma once

#include "admission/policies/queue_waits.h"
#include "admission/policies/run_estimates.h"

namespace berth::admission {

struct QueuePast {
  RunEstimates runs;
  QueueWaits waits;
};

}  // namespace berth::admission

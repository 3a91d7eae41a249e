// admission/policies/queue_past.h — what past workloads tell the policies of queues: run times and
// waits.
//
// ClusterQueues have the numbers of one scheduler. The past of a scheduler without waiting
// workloads may be copied to another scheduler before its first workload, if the same objects have
// been applied to both in the same order.
//
// Threads: one. Errors: none.
#pragma once

#include <cstdint>

#include "admission/policies/queue_waits.h"
#include "admission/policies/run_estimates.h"

namespace berth::admission {

struct QueuePast {
  // kIgnored: no queue has had a policy; kToBeRead: from the first policy to the next cycle.
  enum class State : std::uint8_t { kIgnored, kToBeRead, kKept };

  State state = State::kIgnored;
  RunEstimates runs;
  QueueWaits waits;
};

}  // namespace berth::admission

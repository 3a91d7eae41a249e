// tests/support/core_digest.h — all that the decisions read, as text by name: equal texts, equal
// states.
//
// Threads: one. Errors: none.
#pragma once

#include <string>

#include "admission/scheduler.h"

namespace berth::support {

// Quota, usage, limits, potentials and heights of every node; who holds what, in the order
// candidates are taken; which queues take heads and why not.
std::string DigestOfState(const admission::Scheduler& scheduler);

// Who waits where; kMembers: only which workloads each queue has, in their order, without saying
// who is parked.
enum class Waiting { kMembers, kPlaces };
std::string DigestOfQueues(const admission::Scheduler& scheduler, Waiting waiting);

}  // namespace berth::support

// tests/support/core_digest.h — the whole input of decisions as text, by name: equal texts mean
// equal states.
//
// Threads: one. Errors: none.
#pragma once

#include <string>

#include "admission/scheduler.h"

namespace berth::support {

// Quota, usage, limits, potentials and heights of every node; reservations in the order of
// preemption; active and inactive queues with reasons.
std::string DigestOfState(const admission::Scheduler& scheduler);

// The waiting workloads of each queue; kMembers: only their names in order, without showing which
// are parked.
enum class Waiting { kMembers, kPlaces };
std::string DigestOfQueues(const admission::Scheduler& scheduler, Waiting waiting);

}  // namespace berth::support

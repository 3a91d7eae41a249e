// integrations/controller/gate_removals.h — the metric of the time that pods of admitted Workloads
// wait for the removal of a gate of admission, topology, or elastic jobs.
//
// Threads: those of kube::Metrics.
#pragma once

#include <string>

#include "api/workload.h"
#include "base/clock.h"
#include "kube/runtime/metrics.h"

namespace berth::integrations {

// One pod of `workload` has lost `gate` at `now`. A Workload that is not admitted counts nothing.
void ObserveGateRemoval(kube::Metrics& metrics, const api::Workload& workload,
                        const std::string& gate, WallTime now);

}  // namespace berth::integrations

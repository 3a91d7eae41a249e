// admission/cycle/entry_nodes.h — the nodes of one entry of a cycle: the domains that a preemptor
// will take, the room on nodes that an entry takes, and the assignment of a workload that has quota
// and lacks nodes (second pass).
//
// Threads: one. Errors: none.
// Source: Kueue KEP-2724, pkg/scheduler (tas).
#pragma once

#include "admission/cluster_state.h"
#include "admission/cycle/cycle_entry.h"
#include "admission/decision.h"
#include "admission/feature_gates.h"
#include "api/workload.h"

namespace berth::admission {

// Sets `entry.placed` for its assignment. A preemptor gets domains too.
void NotePlaced(ClusterState& state, const FeatureGates& gates, CycleEntry& entry);

// Sets `assignment` to the flavors, counts and domains of the workload's admission, with the mode
// kFit. Precondition: the workload has quota.
void TakeReserved(ClusterState& state, const api::Workload& workload, Assignment& assignment);

}  // namespace berth::admission

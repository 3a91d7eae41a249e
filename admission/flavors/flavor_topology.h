// admission/flavors/flavor_topology.h — the domains of an assignment whose flavors have topologies:
// which pod sets need domains, the choice, and the room on nodes that the choice takes.
//
// Threads: one. Errors: none; a pod set without domains is an answer with obstacles.
// Source: Kueue KEP-2724, pkg/scheduler/flavorassigner (tas_flavorassigner.go).
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/decision.h"
#include "admission/topology/topology_placer.h"

namespace berth::admission {

// Whether some flavor of the assignment has a topology.
bool UsesTopologies(const ClusterState& state, const Assignment& assignment);

// The pod sets of an assignment, by index, whose pods still need domains.
struct OpenPods {
  std::vector<PlacementRequest> requests;
  std::vector<std::pair<std::size_t, std::string>> impossible;  // no domain fits, for the reason
  std::vector<std::size_t> delayed;                             // wait for the capacity of a check
};
OpenPods OpenPlacements(const ClusterState& state, const QueueState& queue,
                        const api::Workload& workload, const Assignment& assignment);
// Marks the pod sets that get no domains now. Where one is impossible, the mode becomes kNoFit.
void MarkUnplaced(Assignment& assignment, OpenPods open);
void TakePlacements(Assignment& assignment, PlacementResult result);

// The room on nodes that an assignment takes, and that a workload's admission takes.
std::vector<PlacedPods> BookingsOf(ClusterState& state, const api::Workload& workload,
                                   const Assignment& assignment);
std::vector<PlacedPods> BookingsOf(ClusterState& state, const api::Workload& workload);

// Chooses domains for the open placements of an assignment that fits (kFit). Where none are free,
// the mode becomes kPreempt, or kNoFit if empty nodes would not do either.
void PlaceByTopology(ClusterState& state, const QueueState& queue, const api::Workload& workload,
                     Assignment& assignment);

}  // namespace berth::admission

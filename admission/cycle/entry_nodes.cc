#include "admission/cycle/entry_nodes.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/flavors/flavor_topology.h"

namespace berth::admission {
namespace {

// The usage of `wanted` that exceeds the usage of `held`, domain by domain.
std::vector<PlacedPods> Beyond(std::vector<PlacedPods> wanted, std::vector<PlacedPods> held) {
  for (PlacedPods& pods : wanted) {
    for (auto& [key, count] : pods.domains) {
      for (PlacedPods& before : held) {
        if (before.flavor != pods.flavor || before.per_pod != pods.per_pod) continue;
        for (auto& [held_key, held_count] : before.domains) {
          if (held_key != key) continue;
          const std::int32_t same = std::min(count, held_count);
          count -= same;
          held_count -= same;
        }
      }
    }
    std::erase_if(pods.domains, [](const auto& domain) { return domain.second == 0; });
  }
  std::erase_if(wanted, [](const PlacedPods& pods) { return pods.domains.empty(); });
  return wanted;
}

// The constant for `word`, which outlives the object.
std::string_view KnownDelay(std::string_view word) {
  for (const std::string_view known : {"Pending", "Ready"}) {
    if (word == known) return known;
  }
  return "";
}

// A preemptor's pods get domains too, so that no later entry of the cycle takes them: the domains
// of its victims, or, without candidates, the domains that it would get on empty nodes.
void PlacePreemptor(ClusterState& state, CycleEntry& entry) {
  Assignment& assignment = entry.decision.assignment;
  const api::Workload& workload = *entry.input.workload->object;
  if (assignment.mode != AssignmentMode::kPreempt || HasUnhealthyAssignment(workload)) return;
  OpenPods open =
      OpenPlacements(state, state.queue(entry.input.head.cluster_queue), workload, assignment);
  const std::vector<PlacementRequest> requests = std::move(open.requests);
  MarkUnplaced(assignment, std::move(open));
  if (requests.empty()) return;
  const ClusterState::WhatIf what_if = state.Begin();
  for (const PreemptionTarget& target : entry.targets) state.TakeOut(*target.reservation);
  TakePlacements(assignment,
                 state.placer().Place(
                     workload, requests,
                     entry.targets.empty() ? CountKey::Usage::kEmpty : CountKey::Usage::kAsUsed));
  state.RollBack(what_if);
}

bool MayBePlaced(const ClusterState& state, const CycleEntry& entry) {
  return entry.input.reserved != nullptr || entry.input.workload->HasTopologyRequest() ||
         PlacesEverything(state.queue(entry.input.head.cluster_queue), state.placer());
}

}  // namespace

void NotePlaced(ClusterState& state, const FeatureGates& gates, CycleEntry& entry) {
  entry.placed.clear();
  if (!gates.topology_aware_scheduling || !MayBePlaced(state, entry)) return;
  PlacePreemptor(state, entry);
  entry.placed = BookingsOf(state, *entry.input.workload->object, entry.decision.assignment);
  const Reservation* held =
      entry.input.reserved != nullptr ? entry.input.reserved : entry.input.replaces;
  if (held != nullptr) entry.placed = Beyond(std::move(entry.placed), held->placed);
}

void TakeReserved(ClusterState& state, const api::Workload& workload, Assignment& assignment) {
  assignment = {};
  assignment.mode = AssignmentMode::kFit;
  for (const api::PodSet& pod_set : workload.spec.pod_sets) {
    PodSetDecision& decision = assignment.pod_sets.emplace_back();
    decision.name = pod_set.name;
    for (const auto& assigned : workload.status.admission->pod_set_assignments) {
      if (assigned.name != pod_set.name) continue;
      decision.count = assigned.count;
      if (assigned.topology_assignment) {
        decision.topology =
            std::make_shared<const api::TopologyAssignment>(*assigned.topology_assignment);
      }
      decision.delayed_topology = KnownDelay(assigned.delayed_topology_request);
      for (const auto& [resource, amount] : assigned.resource_usage) {
        decision.requests.push_back({state.vocabulary().resources.Intern(resource), amount});
      }
      for (const auto& [resource, flavor] : assigned.flavors) {
        FlavorChoice& choice = decision.flavors.emplace_back();
        choice.resource = state.vocabulary().resources.Intern(resource);
        choice.flavor = state.vocabulary().flavors.Intern(flavor);
        choice.flavor_resource =
            state.vocabulary().flavor_resources.Number(choice.flavor, choice.resource);
      }
    }
  }
}

}  // namespace berth::admission

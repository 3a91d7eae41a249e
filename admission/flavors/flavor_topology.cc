#include "admission/flavors/flavor_topology.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "admission/topology/topology_request.h"
#include "api/topology_annotations.h"

namespace berth::admission {
namespace {

// Lowers every flavor of the pod set, and the assignment, to `mode`.
void Lower(Assignment& assignment, PodSetDecision& pod_set, AssignmentMode mode) {
  for (FlavorChoice& choice : pod_set.flavors) choice.mode = mode;
  assignment.mode = mode;
}

void Refuse(Assignment& assignment, PodSetDecision& pod_set, std::string text) {
  Obstacle obstacle;
  obstacle.kind = Obstacle::Kind::kTopologyError;
  obstacle.SetText(std::move(text));
  pod_set.obstacles.push_back(std::move(obstacle));
  Lower(assignment, pod_set, AssignmentMode::kNoFit);
}

bool HasFailedNode(const api::Workload& workload, const api::TopologyAssignment& assignment) {
  const std::vector<std::string>& failed = workload.status.unhealthy_nodes;
  return std::any_of(
      assignment.domains.begin(), assignment.domains.end(), [&failed](const auto& domain) {
        return std::find(failed.begin(), failed.end(), domain.values.back()) != failed.end();
      });
}

// The flavors of the pod set that have topologies, sorted by name.
std::vector<FlavorId> PlacedFlavors(const ClusterState& state, const PodSetDecision& pod_set) {
  std::vector<FlavorId> flavors;
  for (const FlavorChoice& choice : pod_set.flavors) {
    if (state.placer().HasTopology(choice.flavor) &&
        std::find(flavors.begin(), flavors.end(), choice.flavor) == flavors.end()) {
      flavors.push_back(choice.flavor);
    }
  }
  const queue::Names& names = state.vocabulary().flavors;
  std::sort(flavors.begin(), flavors.end(),
            [&names](FlavorId a, FlavorId b) { return names[a] < names[b]; });
  return flavors;
}

std::int32_t KeptPods(const PodSetDecision& pod_set) {
  std::int32_t pods = 0;
  if (!pod_set.kept_topology) return pods;
  for (const auto& domain : pod_set.kept_topology->domains) pods += domain.count;
  return pods;
}

// Adds the domains of `kept` to `placed`.
void AddKept(const api::TopologyAssignment& kept, api::TopologyAssignment& placed) {
  for (const api::TopologyAssignment::Domain& domain : kept.domains) {
    const auto same =
        std::find_if(placed.domains.begin(), placed.domains.end(),
                     [&domain](const auto& other) { return other.values == domain.values; });
    if (same == placed.domains.end()) {
      placed.domains.push_back(domain);
    } else {
      same->count += domain.count;
    }
  }
  std::sort(placed.domains.begin(), placed.domains.end());
}

}  // namespace

bool UsesTopologies(const ClusterState& state, const Assignment& assignment) {
  return std::any_of(assignment.pod_sets.begin(), assignment.pod_sets.end(),
                     [&state](const auto& pod_set) {
                       return std::any_of(pod_set.flavors.begin(), pod_set.flavors.end(),
                                          [&state](const FlavorChoice& choice) {
                                            return state.placer().HasTopology(choice.flavor);
                                          });
                     });
}

OpenPods OpenPlacements(const ClusterState& state, const QueueState& queue,
                        const api::Workload& workload, const Assignment& assignment) {
  OpenPods open;
  const bool places_everything = PlacesEverything(queue, state.placer());
  const queue::Names& names = state.vocabulary().flavors;
  for (std::size_t i = 0; i < assignment.pod_sets.size(); ++i) {
    const PodSetDecision& pod_set = assignment.pod_sets[i];
    const bool asks = AsksForTopology(workload.spec.pod_sets[i]);
    if ((!asks && !places_everything) || pod_set.count == 0) continue;
    if (pod_set.topology && !HasFailedNode(workload, *pod_set.topology)) continue;
    const std::vector<FlavorId> flavors = PlacedFlavors(state, pod_set);
    if (flavors.empty()) {
      open.impossible.emplace_back(i, "no TAS flavor assigned");
      continue;
    }
    if (flavors.size() > 1) {
      std::string text = "more than one TAS flavor assigned: " + names[flavors.front()];
      for (std::size_t j = 1; j < flavors.size(); ++j) text += ", " + names[flavors[j]];
      open.impossible.emplace_back(i, std::move(text));
      continue;
    }
    if (!workload.status.admission &&
        state.checks().AskForCapacity(queue.spec.admission_checks,
                                      state.vocabulary().flavors[flavors.front()])) {
      open.delayed.push_back(i);
      continue;
    }
    open.requests.push_back({i, flavors.front(), pod_set.count - KeptPods(pod_set), !asks});
  }
  return open;
}

void MarkUnplaced(Assignment& assignment, OpenPods open) {
  for (auto& [index, text] : open.impossible) {
    Refuse(assignment, assignment.pod_sets[index], std::move(text));
  }
  for (const std::size_t index : open.delayed) {
    assignment.pod_sets[index].delayed_topology = "Pending";
  }
}

void TakePlacements(Assignment& assignment, PlacementResult result) {
  for (Placement& placed : result.placements) {
    PodSetDecision& pod_set = assignment.pod_sets[placed.pod_set];
    if (pod_set.kept_topology) AddKept(*pod_set.kept_topology, placed.assignment);
    pod_set.topology =
        std::make_shared<const api::TopologyAssignment>(std::move(placed.assignment));
    if (!pod_set.delayed_topology.empty()) pod_set.delayed_topology = "Ready";
  }
}

std::vector<PlacedPods> BookingsOf(ClusterState& state, const api::Workload& workload,
                                   const Assignment& assignment) {
  std::vector<PlacedPods> bookings;
  for (std::size_t i = 0; i < assignment.pod_sets.size(); ++i) {
    const PodSetDecision& pod_set = assignment.pod_sets[i];
    if (!pod_set.topology) continue;
    const std::vector<FlavorId> flavors = PlacedFlavors(state, pod_set);
    if (flavors.size() != 1) continue;
    bookings.push_back(
        state.placer().Booking(workload.spec.pod_sets[i], flavors.front(), *pod_set.topology));
  }
  return bookings;
}

// Flavor objects may come after the workload: the booking is made for all its flavors, and counts
// for the one that has a topology.
std::vector<PlacedPods> BookingsOf(ClusterState& state, const api::Workload& workload) {
  std::vector<PlacedPods> bookings;
  for (const auto& assigned : workload.status.admission->pod_set_assignments) {
    if (!assigned.topology_assignment) continue;
    const auto pod_set =
        std::find_if(workload.spec.pod_sets.begin(), workload.spec.pod_sets.end(),
                     [&assigned](const auto& other) { return other.name == assigned.name; });
    if (pod_set == workload.spec.pod_sets.end()) continue;
    std::vector<FlavorId> booked;
    for (const auto& [resource, name] : assigned.flavors) {
      const FlavorId flavor = state.vocabulary().flavors.Intern(name);
      if (std::find(booked.begin(), booked.end(), flavor) != booked.end()) continue;
      booked.push_back(flavor);
      bookings.push_back(state.placer().Booking(*pod_set, flavor, *assigned.topology_assignment));
    }
  }
  return bookings;
}

void PlaceByTopology(ClusterState& state, const QueueState& queue, const api::Workload& workload,
                     Assignment& assignment) {
  OpenPods open = OpenPlacements(state, queue, workload, assignment);
  const std::vector<PlacementRequest> requests = std::move(open.requests);
  MarkUnplaced(assignment, std::move(open));
  if (requests.empty() || assignment.mode == AssignmentMode::kNoFit) return;
  TopologyPlacer& placer = state.placer();
  if (assignment.mode == AssignmentMode::kFit) {
    PlacementResult result = placer.Place(workload, requests, CountKey::Usage::kAsUsed);
    if (!result.failure) {
      TakePlacements(assignment, std::move(result));
      return;
    }
    PodSetDecision& pod_set = assignment.pod_sets[result.failure->pod_set];
    Obstacle obstacle;
    obstacle.kind = Obstacle::Kind::kTopology;
    obstacle.flavor = result.failure->flavor;
    obstacle.SetText(std::move(result.failure->reason));
    pod_set.obstacles.push_back(std::move(obstacle));
    Lower(assignment, pod_set, AssignmentMode::kPreempt);
  }
  // The replacement of a failed node preempts no workload.
  if (HasUnhealthyAssignment(workload)) return;
  const PlacementResult alone = placer.Place(workload, requests, CountKey::Usage::kEmpty);
  if (!alone.failure) {
    // The nodes may be fragmented although the quota suffices: preemption may help.
    for (const PlacementRequest& request : requests) {
      Lower(assignment, assignment.pod_sets[request.pod_set], AssignmentMode::kPreempt);
    }
    return;
  }
  PodSetDecision& pod_set = assignment.pod_sets[alone.failure->pod_set];
  for (FlavorAttempt& attempt : pod_set.attempts) {
    if (attempt.flavor != alone.failure->flavor) continue;
    attempt.mode = AssignmentMode::kNoFit;
    attempt.no_fit_reason = NoFitReason::kTopologyPlacementFailed;
  }
  Lower(assignment, pod_set, AssignmentMode::kNoFit);
}

}  // namespace berth::admission

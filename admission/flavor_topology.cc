// The flavor assigner's dealings with the TopologyPlacer: after the flavors, the nodes.
#include <algorithm>

#include "admission/flavor_assigner.h"

namespace berth::admission {
namespace {

// Lowers every flavor of the pod set to `mode`.
void Lower(PodSetDecision& pod_set, AssignmentMode mode) {
  for (FlavorChoice& choice : pod_set.flavors) choice.mode = mode;
}

}  // namespace

void FlavorAssigner::Place(Assignment& assignment) {
  std::vector<PlacementRequest> requests;
  for (std::size_t i = 0; i < assignment.pod_sets.size(); ++i) {
    const PodSetDecision& pod_set = assignment.pod_sets[i];
    if (!context_.placer->IsPlaced(queue_, workload_.object->spec.pod_sets[i])) continue;
    const auto flavor = std::find_if(
        pod_set.flavors.begin(), pod_set.flavors.end(),
        [this](const FlavorChoice& choice) { return context_.placer->HasTopology(choice.flavor); });
    if (flavor == pod_set.flavors.end()) continue;
    requests.push_back({i, flavor->flavor, pod_set.count, workload_.pod_sets[i].per_pod});
  }
  if (requests.empty()) return;
  const auto fail = [&assignment](const PlacementFailure& failure, AssignmentMode mode) {
    PodSetDecision& pod_set = assignment.pod_sets[failure.pod_set];
    const bool told = std::any_of(pod_set.obstacles.begin(), pod_set.obstacles.end(),
                                  [&failure](const Obstacle& obstacle) {
                                    return obstacle.in_message && obstacle.text == failure.reason;
                                  });
    if (!told) {
      Obstacle obstacle;
      obstacle.kind = Obstacle::Kind::kTopology;
      obstacle.flavor = failure.flavor;
      obstacle.text = failure.reason;
      pod_set.obstacles.push_back(std::move(obstacle));
    }
    Lower(pod_set, mode);
    assignment.mode = mode;
  };
  if (assignment.mode == AssignmentMode::kFit) {
    PlacementResult result =
        context_.placer->Place(*workload_.object, requests, TopologyPlacer::Nodes::kAsUsed);
    if (!result.failure) {
      for (Placement& placed : result.placements) {
        assignment.pod_sets[placed.pod_set].topology = std::move(placed.assignment);
      }
      return;
    }
    fail(*result.failure, AssignmentMode::kPreempt);
  }
  const PlacementResult alone =
      context_.placer->Place(*workload_.object, requests, TopologyPlacer::Nodes::kEmpty);
  if (alone.failure) {
    for (FlavorAttempt& attempt : assignment.pod_sets[alone.failure->pod_set].attempts) {
      if (attempt.flavor != alone.failure->flavor) continue;
      attempt.mode = AssignmentMode::kNoFit;
      attempt.no_fit_reason = NoFitReason::kTopologyPlacementFailed;
    }
    fail(*alone.failure, AssignmentMode::kNoFit);
    return;
  }
  // Total quota may suffice and still be fragmented: others may have to go.
  for (const PlacementRequest& request : requests) {
    Lower(assignment.pod_sets[request.pod_set], AssignmentMode::kPreempt);
  }
}

}  // namespace berth::admission

#include "admission/workloads/replaced_slice.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace berth::admission {
namespace {

// The pods of the replaced slice stay in its domains `before`.
void KeepTopology(const api::TopologyAssignment& before, PodSetDecision& pod_set) {
  auto kept = std::make_shared<api::TopologyAssignment>();
  kept->levels = before.levels;
  std::int32_t left = pod_set.count;
  for (const api::TopologyAssignment::Domain& domain : before.domains) {
    const std::int32_t count = std::min(domain.count, left);
    if (count > 0) kept->domains.push_back({domain.values, count});
    left -= count;
  }
  if (left > 0) {
    pod_set.kept_topology = std::move(kept);
  } else {
    pod_set.topology = std::move(kept);
  }
}

}  // namespace

Amount ReplacedSlice::ChargeOf(const std::string& pod_set, ResourceId resource) const {
  for (const PodSetCharge& charge : *charges_) {
    if (charge.resource == resource && charge.pod_set == pod_set) return charge.amount;
  }
  return 0;
}

std::optional<Obstacle> ReplacedSlice::FindObstacle(const PodSetGroup& group,
                                                    const CompiledGroup& resources, FlavorId flavor,
                                                    const queue::Names& flavors) const {
  if (slice_ == nullptr) return std::nullopt;
  for (const PodSetCharge& charge : *charges_) {
    const bool of_group = std::any_of(
        group.pod_sets.begin(), group.pod_sets.end(),
        [&](std::size_t index) { return workload_->pod_sets[index].name == charge.pod_set; });
    const bool requested = std::any_of(
        group.requests.begin(), group.requests.end(),
        [&](const ResourceRequest& request) { return request.resource == charge.resource; });
    if (!of_group || !requested || charge.flavor == flavor ||
        queue_->GroupOf(charge.resource) != &resources) {
      continue;
    }
    Obstacle other;
    other.kind = Obstacle::Kind::kOfAnotherSlice;
    other.resource = charge.resource;
    other.flavor = flavor;
    other.SetText("could not assign " + flavors[flavor] +
                  " flavor since the original workload is assigned: " + flavors[charge.flavor]);
    return other;
  }
  return std::nullopt;
}

void ReplacedSlice::KeepTopologies(Assignment& assignment) const {
  for (PodSetDecision& pod_set : assignment.pod_sets) {
    for (const api::PodSetAssignment& before : slice_->status.admission->pod_set_assignments) {
      if (before.name == pod_set.name && before.topology_assignment && pod_set.count > 0) {
        KeepTopology(*before.topology_assignment, pod_set);
      }
    }
  }
}

}  // namespace berth::admission

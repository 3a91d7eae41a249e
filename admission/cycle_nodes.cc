// Nodes in the cycle: domains for preemptors, domains that earlier entries took, and the second
// pass of workloads that have quota and lack nodes.
#include <algorithm>

#include "admission/cycle.h"
#include "admission/flavor_topology.h"
#include "base/assert.h"

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

}  // namespace

// A preemptor's pods get domains too, so that no later entry of the cycle takes them: the domains
// of its victims, or, without candidates, the domains that it would get on empty nodes.
void Cycle::PlacePreemptor(Entry& entry) {
  Assignment& assignment = entry.decision.assignment;
  const api::Workload& workload = *entry.input.workload->object;
  if (assignment.mode != AssignmentMode::kPreempt || HasUnhealthyAssignment(workload)) return;
  ClusterState& state = context_.state;
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

bool Cycle::MayBePlaced(const Entry& entry) const {
  const ClusterState& state = context_.state;
  return entry.input.reserved != nullptr || entry.input.workload->HasTopologyRequest() ||
         state.PlacesEverything(state.queue(entry.input.head.cluster_queue));
}

void Cycle::NotePlaced(Entry& entry) {
  entry.placed.clear();
  if (!context_.gates.topology_aware_scheduling || !MayBePlaced(entry)) return;
  PlacePreemptor(entry);
  entry.placed =
      BookingsOf(context_.state, *entry.input.workload->object, entry.decision.assignment);
  const Reservation* held =
      entry.input.reserved != nullptr ? entry.input.reserved : entry.input.replaces;
  if (held != nullptr) entry.placed = Beyond(std::move(entry.placed), held->placed);
}

Cycle::Room Cycle::RoomFor(const Entry& entry) {
  ClusterState& state = context_.state;
  const NodeId leaf = state.queue(entry.input.head.cluster_queue).node;
  const auto look = [&] {
    if (entry.input.reserved == nullptr &&
        !state.tree().Fits(leaf, entry.decision.assignment.usage)) {
      return Room::kNoQuota;
    }
    const auto counting = context_.own_rules.count_pods_on_nodes
                              ? TopologyPlacer::Counting::kTogether
                              : TopologyPlacer::Counting::kEachAlone;
    return state.placer().Fits(entry.placed, counting) ? Room::kEnough : Room::kNoNodes;
  };
  if (preemptions_.empty() && entry.targets.empty()) return look();
  const ClusterState::WhatIf what_if = state.Begin();
  preemptions_.ShowStopped(leaf);
  for (const PreemptionTarget& target : entry.targets) {
    if (!context_.search.IsExcluded(*target.reservation)) state.TakeOut(*target.reservation);
  }
  const Room room = look();
  state.RollBack(what_if);
  if (room != Room::kEnough || !entry.targets.empty() ||
      !context_.own_rules.quota_until_victims_stop) {
    return room;
  }
  if (preemptions_.empty()) return room;  // then claims only reduce the room
  // The entry is admitted now, while victims of other entries hold their nodes.
  const ClusterState::WhatIf victims_stay = state.Begin();
  preemptions_.ShowNow(leaf);
  const Room room_now = look();
  state.RollBack(victims_stay);
  return room_now;
}

// Earlier entries have taken its domains: assigns again, only the nominated flavors.
void Cycle::RecomputeNodes(Entry& entry) {
  // Victims of earlier entries are in the state.
  context_.search.ExcludeNone();
  if (entry.input.reserved != nullptr) {
    AssignFlavors(entry, nullptr, nullptr);
  } else {
    const Assignment nominated = std::move(entry.decision.assignment);
    AssignFlavors(entry, nullptr, &nominated);
  }
  for (const Reservation* gone : preemptions_.preempted()) context_.search.Exclude(*gone);
}

// Assigns nodes again. Returns whether the entry had room without the nodes that claims of this
// cycle keep, and has none now: claims end with the cycle, and no change would tell their end.
bool Cycle::LosesNodesToClaim(Entry& entry) {
  const auto has_room = [&entry] {
    return entry.decision.assignment.mode == AssignmentMode::kFit || !entry.targets.empty();
  };
  const bool had_room = has_room();
  RecomputeNodes(entry);
  return context_.own_rules.wake_the_flavor && had_room && !has_room() &&
         !entry.decision.second_pass && preemptions_.claims_nodes();
}

// Takes the flavors and counts of the reservation, and finds domains for pods that lack them.
void Cycle::AssignAgain(Entry& entry) {
  ClusterState& state = context_.state;
  const api::Workload& workload = *entry.input.workload->object;
  Assignment& assignment = entry.decision.assignment;
  assignment = {};
  assignment.mode = AssignmentMode::kFit;
  entry.targets.clear();
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
        choice.flavor_resource = state.FlavorResourceNumber(choice.flavor, choice.resource);
      }
    }
  }
  const ClusterQueueId queue = entry.input.head.cluster_queue;
  PlaceByTopology(state, state.queue(queue), workload, assignment);
  if (assignment.mode != AssignmentMode::kPreempt || HasUnhealthyAssignment(workload)) return;
  entry.targets = context_.search.Find(RequestFor(entry, assignment), &entry.decision.spared);
}

// Processes an entry of the second pass; returns whether the entry is complete.
bool Cycle::ProcessAgain(Entry& entry) {
  Decision& decision = entry.decision;
  if (!context_.gates.tas_failed_node_replacement_fail_fast ||
      !HasUnhealthyAssignment(*decision.object) ||
      decision.assignment.mode == AssignmentMode::kFit) {
    return false;
  }
  decision.outcome = Outcome::kEvictForNodeFailure;
  return true;
}

void Cycle::CountIn(const Entry& entry) {
  ClusterState& state = context_.state;
  if (entry.input.reserved == nullptr) {
    state.tree().AddUsage(state.queue(entry.decision.cluster_queue).node,
                          entry.decision.assignment.usage);
  }
  state.placer().Use(entry.placed);
}

void Cycle::Claim(const Entry& entry) {
  CountIn(entry);
  const NodeId leaf = context_.state.queue(entry.decision.cluster_queue).node;
  const bool holds_quota = entry.input.reserved != nullptr;
  preemptions_.AddClaim({leaf, holds_quota ? Usage{} : entry.decision.assignment.usage,
                         entry.placed,
                         entry.input.plan != nullptr ? entry.decision.object : nullptr});
}

}  // namespace berth::admission

// What a preemptor has freed is its own, and is not taken back: the rules that let preemption come
// to an end (OwnRules::preemptor_keeps_what_it_freed, no_preemption_in_return).
#include <algorithm>

#include "admission/cycle.h"

namespace berth::admission {

// It has what was planned, or something else that it need not borrow, which nobody may reclaim; or
// it waits for its own victims alone.
bool Cycle::IsAsPlanned(const Entry& entry) const {
  const Assignment& assignment = entry.decision.assignment;
  const PreemptionPlan& plan = *entry.input.plan;
  if (assignment.mode == AssignmentMode::kFit) {
    return assignment.borrow_height == 0 || SameChoice(assignment, plan.assignment);
  }
  if (assignment.mode != AssignmentMode::kPreempt || entry.targets.empty()) return false;
  const bool its_own =
      std::all_of(entry.targets.begin(), entry.targets.end(), [&plan](const auto& target) {
        return target.reservation->evicted &&
               std::find(plan.victims.begin(), plan.victims.end(), target.reservation->workload) !=
                   plan.victims.end();
      });
  return its_own && SameChoice(assignment, plan.assignment);
}

// After the entry was nominated like any other: where that is not what its victims have to go for,
// it is nominated again for just that. What cannot be had any more is given up.
void Cycle::KeepToPlan(Entry& entry) {
  if (IsAsPlanned(entry)) return;
  Assignment other = std::move(entry.decision.assignment);
  PreemptionTargets other_targets = std::move(entry.targets);
  std::vector<PlacedPods> other_placed = std::move(entry.placed);
  SparedCandidates other_spared = std::move(entry.decision.spared);
  AssignFlavors(entry, nullptr, &entry.input.plan->assignment);
  const AssignmentMode mode = entry.decision.assignment.mode;
  if (mode == AssignmentMode::kFit ||
      (mode == AssignmentMode::kPreempt && !entry.targets.empty())) {
    return;
  }
  entry.decision.assignment = std::move(other);
  entry.targets = std::move(other_targets);
  entry.placed = std::move(other_placed);
  entry.decision.spared = std::move(other_spared);
  entry.input.plan = nullptr;
}

// Whether the head fits while everything that plans of lower priority have freed is still taken,
// and those of at least its own priority have what they wait for.
bool Cycle::NeedsNothingOfPlans(const Entry& head) {
  ClusterState& state = *context_.state;
  QuotaTree& tree = state.tree();
  const NodeId root = tree.Root(state.queue(head.input.head.cluster_queue).node);
  const ClusterState::WhatIf what_if = state.Begin();
  bool takes_their_victim = false;
  for (const Entry& other : entries_) {
    const PreemptionPlan* plan = other.input.plan;
    const NodeId leaf = state.queue(other.input.head.cluster_queue).node;
    if (plan == nullptr || other.done || tree.Root(leaf) != root) continue;
    if (other.input.workload->priority >= head.input.workload->priority) {
      tree.AddUsage(leaf, other.decision.assignment.usage);
      state.placer().Use(other.placed);
      continue;
    }
    for (const PreemptionPlan::Freed& freed : plan->freed) {
      takes_their_victim =
          takes_their_victim ||
          std::any_of(head.targets.begin(), head.targets.end(), [&freed](const auto& target) {
            return target.reservation->workload == freed.victim;
          });
      const Reservation* held = state.reservation(freed.victim);
      const NodeId from = state.queue(freed.cluster_queue).node;
      if ((held != nullptr && held->evicted) || from == kNoQuotaNode) continue;
      tree.AddUsage(from, freed.usage);
      state.placer().Use(freed.placed);
    }
  }
  const bool enough = !takes_their_victim && RoomFor(head) == Room::kEnough;
  state.RollBack(what_if);
  return enough;
}

// A plan goes before all others but heads of higher priority that need nothing of it.
void Cycle::ProcessThoseAbove(const Entry& holder) {
  if (!context_.gates->priority_sorting_within_cohort) return;
  const ClusterState& state = *context_.state;
  const QuotaTree& tree = state.tree();
  const NodeId root = tree.Root(state.queue(holder.input.head.cluster_queue).node);
  std::vector<Place> above;
  for (Entry& head : entries_) {
    if (head.done || head.input.plan != nullptr || head.input.reserved != nullptr) continue;
    if (head.input.workload->priority <= holder.input.workload->priority) continue;
    const AssignmentMode mode = head.decision.assignment.mode;
    if (mode != AssignmentMode::kFit &&
        (mode != AssignmentMode::kPreempt || head.targets.empty())) {
      continue;
    }
    if (tree.Root(state.queue(head.input.head.cluster_queue).node) != root) continue;
    above.push_back(PlaceOf(head));
  }
  std::sort(above.begin(), above.end(),
            [this](const Place& a, const Place& b) { return Before(a, b); });
  for (const Place& place : above) {
    if (!NeedsNothingOfPlans(*place.entry)) continue;
    place.entry->done = true;
    if (IsFair()) tournament_.Withdraw(place.entry->input.head.cluster_queue);
    ProcessNow(*place.entry);
  }
}

void Cycle::SkipWithoutRoom(Entry& entry) {
  Skip(entry, Remark::kNoLongerFits);
  const QuotaTree& tree = context_.state->tree();
  const NodeId root = tree.Root(context_.state->queue(entry.decision.cluster_queue).node);
  const Usage& asked = entry.decision.assignment.usage;
  for (const Claimed& claimed : claims_) {
    if (claimed.preemptor == nullptr || tree.Root(claimed.leaf) != root) continue;
    const bool contested = std::any_of(asked.begin(), asked.end(), [&claimed](const auto& item) {
      return std::any_of(claimed.usage.begin(), claimed.usage.end(), [&item](const auto& held) {
        return held.flavor_resource == item.flavor_resource;
      });
    });
    if (!contested) continue;
    entry.decision.remark = Remark::kHeldForPreemptor;
    entry.decision.held_for = claimed.preemptor->decision.object;
    return;
  }
}

// Victims that it may not take: they have what was taken from it, or it gained nothing from them
// the last time. What is its queue's own quota it may take back.
std::vector<const Reservation*> Cycle::NotToBeTaken(const Entry& entry,
                                                    const std::vector<WorkloadId>& above) const {
  const bool entitled = entry.decision.assignment.borrow_height == 0;
  std::vector<const Reservation*> spared;
  for (const PreemptionTarget& target : entry.targets) {
    const Reservation& victim = *target.reservation;
    if (victim.evicted) continue;
    const bool other_queue = victim.cluster_queue != entry.input.head.cluster_queue;
    const bool in_return = !(entitled && other_queue) &&
                           std::binary_search(above.begin(), above.end(), victim.workload);
    if (in_return || context_.history->InVain(entry.decision.workload, victim.workload)) {
      spared.push_back(&victim);
    }
  }
  return spared;
}

// Victims were found. Where some of them are not to be taken, chooses again as if nobody could
// preempt those, until all may.
void Cycle::HoldBack(Entry& entry, const ScanState* scan, const Assignment* nominated) {
  const std::vector<WorkloadId> above = context_.history->Above(entry.decision.workload);
  PreemptionSearch& search = *context_.search;
  const std::size_t excluded_before = search.excluded_count();
  SparedCandidates held_back;
  while (true) {
    const std::vector<const Reservation*> not_these = NotToBeTaken(entry, above);
    if (not_these.empty()) break;
    for (const Reservation* victim : not_these) {
      search.Exclude(*victim);
      if (held_back.size() < kMaxSparedByPolicy) {
        held_back.push_back({victim->workload, SparedCandidate::Cause::kPreemptedIt});
      }
    }
    Choose(entry, scan, nominated);
    entry.was_held_back = true;
  }
  if (search.excluded_count() == excluded_before) return;
  search.ExcludeFirst(excluded_before);
  for (const SparedCandidate& spared : entry.decision.spared) {
    if (held_back.size() < kMaxSpared) held_back.push_back(spared);
  }
  entry.decision.spared = held_back;
}

}  // namespace berth::admission

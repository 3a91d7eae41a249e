// Freed quota is kept for its preemptor and not taken back: the rules that make preemption
// terminate (OwnRules::preemptor_keeps_what_it_freed, no_preemption_in_return).
#include <algorithm>
#include <optional>
#include <utility>

#include "admission/cycle.h"

namespace berth::admission {

// Whether the entry has its planned assignment, or another one without borrowing, which no queue
// may reclaim; or waits for its own victims alone.
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

// After the ordinary nomination: if the result differs from the plan's assignment, nominates again
// for that assignment alone. A plan that cannot fit any more ends.
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

// The holders of plans, and the entries before them, do not change until entries are processed.
void Cycle::IndexPlans() {
  plans_indexed_ = true;
  const ClusterState& state = context_.state;
  const QuotaTree& tree = state.tree();
  const auto root_of = [&](const Entry& entry) {
    return tree.Root(state.queue(entry.input.head.cluster_queue).node);
  };
  for (Entry& entry : entries_) {
    if (entry.input.plan == nullptr) continue;
    PlansOfTree& plans = plans_[root_of(entry)];
    const std::int64_t priority = entry.input.workload->priority;
    plans.lowest = plans.holders.empty() ? priority : std::min(plans.lowest, priority);
    plans.holders.push_back(&entry);
    for (const PreemptionPlan::Freed& freed : entry.input.plan->freed) {
      plans.freed_by[freed.victim].push_back(&entry);
    }
  }
  for (Entry& entry : entries_) {
    if (entry.done || entry.input.plan != nullptr || entry.input.reserved != nullptr) continue;
    const AssignmentMode mode = entry.decision.assignment.mode;
    if (mode != AssignmentMode::kFit &&
        (mode != AssignmentMode::kPreempt || entry.targets.empty())) {
      continue;
    }
    const auto found = plans_.find(root_of(entry));
    if (found == plans_.end()) continue;
    PlansOfTree& plans = found->second;
    const std::int64_t priority = entry.input.workload->priority;
    if (priority <= plans.lowest) continue;
    plans.highest = plans.above.empty() ? priority : std::max(plans.highest, priority);
    plans.above.push_back(OrderOf(entry));
  }
  for (auto& [root, plans] : plans_) {
    std::sort(plans.above.begin(), plans.above.end(),
              [this](const EntryOrder& a, const EntryOrder& b) { return Before(a, b); });
  }
}

// Inside a what-if: counts the quota that plans below `priority` have freed as taken, and gives the
// other plans their assignments.
void Cycle::CountPlans(const PlansOfTree& plans, std::int64_t priority) {
  ClusterState& state = context_.state;
  QuotaTree& tree = state.tree();
  for (const Entry* holder : plans.holders) {
    if (holder->done) continue;
    if (holder->input.workload->priority >= priority) {
      tree.AddUsage(state.queue(holder->input.head.cluster_queue).node,
                    holder->decision.assignment.usage);
      state.placer().Use(holder->placed);
      continue;
    }
    for (const PreemptionPlan::Freed& freed : holder->input.plan->freed) {
      const Reservation* held = state.reservation(freed.victim);
      const NodeId from = state.queue(freed.cluster_queue).node;
      if ((held != nullptr && held->evicted) || from == kNoQuotaNode) continue;
      tree.AddUsage(from, freed.usage);
      state.placer().Use(freed.placed);
    }
  }
}

bool Cycle::TakesVictimOfPlan(const PlansOfTree& plans, const Entry& head) const {
  return std::any_of(head.targets.begin(), head.targets.end(), [&](const auto& target) {
    const auto found = plans.freed_by.find(target.reservation->workload);
    if (found == plans.freed_by.end()) return false;
    return std::any_of(found->second.begin(), found->second.end(), [&head](const Entry* holder) {
      return !holder->done && holder->input.workload->priority < head.input.workload->priority;
    });
  });
}

// A plan goes before all entries except heads of higher priority that need none of its quota. Heads
// of one priority are tested in one what-if, in which all preempted reservations have stopped,
// until one of the heads is processed: most have no room even then.
void Cycle::ProcessThoseAbove(const Entry& holder) {
  if (!context_.gates.priority_sorting_within_cohort) return;
  if (!plans_indexed_) IndexPlans();
  ClusterState& state = context_.state;
  const NodeId leaf = state.queue(holder.input.head.cluster_queue).node;
  PlansOfTree& plans = plans_.at(state.tree().Root(leaf));
  const std::int64_t least = holder.input.workload->priority;
  if (plans.above.empty() || plans.highest <= least) return;
  std::erase_if(plans.above, [](const EntryOrder& head) { return head.entry->done; });
  std::optional<ClusterState::WhatIf> what_if;
  std::int64_t priority = 0;  // priority of the what-if
  const auto end_what_if = [&] {
    if (what_if) state.RollBack(*std::exchange(what_if, std::nullopt));
  };
  for (const EntryOrder& head : plans.above) {
    Entry& entry = *head.entry;
    if (entry.input.workload->priority <= least || TakesVictimOfPlan(plans, entry)) continue;
    if (!what_if || priority != entry.input.workload->priority) {
      end_what_if();
      what_if = state.Begin();
      priority = entry.input.workload->priority;
      CountPlans(plans, priority);
      preemptions_.ShowStopped(leaf);
    }
    const ClusterState::WhatIf without_targets = state.Begin();
    for (const PreemptionTarget& target : entry.targets) {
      if (!context_.search.IsExcluded(*target.reservation)) state.TakeOut(*target.reservation);
    }
    const bool may_fit = state.tree().Fits(state.queue(entry.input.head.cluster_queue).node,
                                           entry.decision.assignment.usage);
    state.RollBack(without_targets);
    if (!may_fit) continue;
    end_what_if();
    const ClusterState::WhatIf counted = state.Begin();
    CountPlans(plans, priority);
    const Room room = RoomFor(entry);
    state.RollBack(counted);
    if (room != Room::kEnough) continue;
    entry.done = true;
    if (IsFair()) tournament_.Withdraw(entry.input.head.cluster_queue);
    ProcessNow(entry);
  }
  end_what_if();
}

void Cycle::SkipWithoutRoom(Entry& entry) {
  Skip(entry, Remark::kNoLongerFits);
  const NodeId leaf = context_.state.queue(entry.decision.cluster_queue).node;
  auto keeper = preemptions_.KeeperOf(leaf, entry.decision.assignment.usage);
  if (keeper == nullptr) return;
  entry.decision.remark = Remark::kHeldForPreemptor;
  entry.decision.held_for = std::move(keeper);
}

// Victims that the entry may not take: they took its quota, or an earlier preemption of them was in
// vain. It may reclaim its queue's nominal quota from queues that took it.
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
    if (in_return || context_.history.InVain(entry.decision.workload, victim.workload)) {
      spared.push_back(&victim);
    }
  }
  return spared;
}

// The entry has victims. If some of them may not be taken, searches again with those excluded,
// until all may be taken.
void Cycle::HoldBack(Entry& entry, const ScanState* scan, const Assignment* nominated) {
  const std::vector<WorkloadId> above = context_.history.Above(entry.decision.workload);
  PreemptionSearch& search = context_.search;
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

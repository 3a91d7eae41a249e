// Freed quota is kept for its preemptor and not taken back: the rules that make preemption
// terminate (OwnRules::preemptor_keeps_what_it_freed, no_preemption_in_return).
#include <algorithm>
#include <optional>
#include <utility>

#include "admission/cycle.h"

namespace berth::admission {
namespace {

// The node on the path from `leaf` to the root that stands right below the first cohort that is
// above `other` too.
NodeId BelowCommonCohort(const QuotaTree& tree, NodeId leaf, NodeId other) {
  std::vector<NodeId> path;  // from the root
  for (NodeId node = leaf; node != kNoQuotaNode; node = tree.parent(node)) path.push_back(node);
  std::vector<NodeId> beside;
  for (NodeId node = other; node != kNoQuotaNode; node = tree.parent(node)) beside.push_back(node);
  while (path.size() > 1 && !beside.empty() && path.back() == beside.back()) {
    path.pop_back();
    beside.pop_back();
  }
  return path.back();
}

// The usage that the plan's victims have given back, as far as the plan asks for it.
Usage FreedOf(const ClusterState& state, const PreemptionPlan& plan, const Usage& asked) {
  Usage kept;
  for (const FlavorResourceAmount& item : asked) {
    Amount sum = 0;
    for (const PreemptionPlan::Freed& freed : plan.freed) {
      const Reservation* held = state.reservation(freed.victim);
      if (held != nullptr && held->evicted) continue;
      for (const FlavorResourceAmount& given : freed.usage) {
        if (given.flavor_resource == item.flavor_resource) sum = api::AddAmounts(sum, given.amount);
      }
    }
    if (sum > 0) kept.push_back({item.flavor_resource, std::min(sum, item.amount)});
  }
  return kept;
}

}  // namespace

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
  const auto leaf_of = [&state](const Entry& entry) {
    return state.queue(entry.input.head.cluster_queue).node;
  };
  for (Entry& entry : entries_) {
    if (entry.input.plan == nullptr) continue;
    PlansOfTree& plans = plans_[state.tree().Root(leaf_of(entry))];
    plans.holders.push_back(&entry);
    plans.priorities.push_back(entry.input.workload->priority);
    for (const PreemptionPlan::Freed& freed : entry.input.plan->freed) {
      if (!freed.uid.empty()) plans.freed_by[freed.uid].push_back(&entry);
    }
  }
  for (auto& [root, plans] : plans_) std::sort(plans.priorities.begin(), plans.priorities.end());
  for (Entry& entry : entries_) {
    if (entry.done || entry.input.plan != nullptr || entry.input.reserved != nullptr) continue;
    const AssignmentMode mode = entry.decision.assignment.mode;
    if (mode != AssignmentMode::kFit &&
        (mode != AssignmentMode::kPreempt || entry.targets.empty())) {
      continue;
    }
    const auto found = plans_.find(state.tree().Root(leaf_of(entry)));
    if (found == plans_.end()) continue;
    PlansOfTree& plans = found->second;
    const std::int64_t priority = entry.input.workload->priority;
    if (priority <= plans.priorities.front()) continue;
    plans.highest = plans.above.empty() ? priority : std::max(plans.highest, priority);
    plans.above.push_back(OrderOf(entry));
  }
  for (auto& [root, plans] : plans_) {
    std::sort(plans.above.begin(), plans.above.end(),
              [this](const EntryOrder& a, const EntryOrder& b) { return Before(a, b); });
    for (std::size_t i = 0; i < plans.above.size(); ++i) {
      plans.by_leaf[leaf_of(*plans.above[i].entry)] = i;
      plans.untested.insert(i);
    }
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

// The holder of lower priority than the head whose plan has `victim` among its victims; null: none.
const Cycle::Entry* Cycle::HolderOf(const PlansOfTree& plans, const api::Workload& victim,
                                    const Entry& head) const {
  const auto found = plans.freed_by.find(victim.meta.uid);
  if (found == plans.freed_by.end()) return nullptr;
  const auto holder =
      std::find_if(found->second.begin(), found->second.end(), [&head](const Entry* each) {
        return !each->done && each->input.workload->priority < head.input.workload->priority;
      });
  return holder == found->second.end() ? nullptr : *holder;
}

// The holder of a plan whose victims the head would preempt too, or for which the head was itself
// preempted; null: none.
const Cycle::Entry* Cycle::HolderOfWhatItNeeds(const PlansOfTree& plans, const Entry& head) const {
  const Entry* holder = HolderOf(plans, *head.decision.object, head);
  for (const PreemptionTarget& target : head.targets) {
    if (holder == nullptr) holder = HolderOf(plans, *target.reservation->object, head);
  }
  return holder;
}

// Inside the what-if in which plans are counted: whether the quota suffices once the head's own
// victims have stopped. For most heads it does not.
bool Cycle::MayFit(const Entry& head) {
  ClusterState& state = context_.state;
  const ClusterState::WhatIf without_targets = state.Begin();
  for (const PreemptionTarget& target : head.targets) {
    if (!context_.search.IsExcluded(*target.reservation)) state.TakeOut(*target.reservation);
  }
  const bool fits = state.tree().Fits(state.queue(head.input.head.cluster_queue).node,
                                      head.decision.assignment.usage);
  state.RollBack(without_targets);
  return fits;
}

bool Cycle::HasRoomBesidePlans(const PlansOfTree& plans, Entry& head) {
  const ClusterState::WhatIf counted = context_.state.Begin();
  CountPlans(plans, head.input.workload->priority);
  const Room room = RoomFor(head);
  context_.state.RollBack(counted);
  return room == Room::kEnough;
}

// A plan goes before all entries except heads of higher priority that need none of its quota and
// were not preempted for it. A head is tested once, and again when it may have more room
// (NoteProcessed). Heads above the same plans are tested in one what-if, in which all preempted
// reservations have stopped, until one of the heads is processed.
void Cycle::ProcessThoseAbove(const Entry& holder) {
  if (!context_.gates.priority_sorting_within_cohort) return;
  if (!plans_indexed_) IndexPlans();
  ClusterState& state = context_.state;
  const NodeId leaf = state.queue(holder.input.head.cluster_queue).node;
  PlansOfTree& plans = plans_.at(state.tree().Root(leaf));
  const std::int64_t least = holder.input.workload->priority;
  if (plans.untested.empty() || plans.highest <= least) return;
  std::optional<ClusterState::WhatIf> what_if;
  std::ptrdiff_t plans_below = 0;  // number of plans of lower priority in the what-if
  const auto end_what_if = [&] {
    if (what_if) state.RollBack(*std::exchange(what_if, std::nullopt));
  };
  const std::vector<std::size_t> tests(plans.untested.begin(), plans.untested.end());
  for (const std::size_t number : tests) {
    Entry& entry = *plans.above[number].entry;
    const std::int64_t priority = entry.input.workload->priority;
    if (!entry.done && priority <= least) continue;
    plans.untested.erase(number);
    if (entry.done) continue;
    if (const Entry* needed = HolderOfWhatItNeeds(plans, entry)) {
      plans.needing[needed].push_back(number);
      continue;
    }
    const std::ptrdiff_t below =
        std::lower_bound(plans.priorities.begin(), plans.priorities.end(), priority) -
        plans.priorities.begin();
    if (!what_if || plans_below != below) {
      end_what_if();
      what_if = state.Begin();
      plans_below = below;
      CountPlans(plans, priority);
      preemptions_.ShowStopped(leaf);
    }
    if (!MayFit(entry)) continue;
    end_what_if();
    if (!HasRoomBesidePlans(plans, entry)) continue;
    entry.done = true;
    if (IsFair()) tournament_.Withdraw(entry.input.head.cluster_queue);
    ProcessNow(entry);
    NoteProcessed(entry);
  }
  end_what_if();
}

// Whether the claim of the entry takes all of the released usage again, in all cohorts that the
// entry's queue shares with the queue of a released usage.
bool Cycle::IsCoveredBy(const Entry& entry, const std::vector<UsageAt>& released) const {
  const QuotaTree& tree = context_.state.tree();
  const NodeId leaf = context_.state.queue(entry.decision.cluster_queue).node;
  Usage left = entry.decision.assignment.usage;
  for (const UsageAt& each : released) {
    for (const FlavorResourceAmount& item : *each.usage) {
      const auto claimed = std::find_if(left.begin(), left.end(), [&item](const auto& other) {
        return other.flavor_resource == item.flavor_resource;
      });
      if (item.amount <= 0) continue;
      if (claimed == left.end() || claimed->amount < item.amount) return false;
      claimed->amount -= item.amount;
      for (NodeId node = leaf; each.leaf != leaf && node != kNoQuotaNode;
           node = tree.parent(node)) {
        if (tree.LocalQuota(node, item.flavor_resource) > 0) return false;
      }
    }
  }
  return true;
}

void Cycle::TestAgainBelow(PlansOfTree& plans, NodeId node) {
  if (const auto found = plans.by_leaf.find(node); found != plans.by_leaf.end()) {
    plans.untested.insert(found->second);
    return;
  }
  const QuotaTree& tree = context_.state.tree();
  for (const auto& [leaf, number] : plans.by_leaf) {
    NodeId above = leaf;
    while (above != kNoQuotaNode && above != node) above = tree.parent(above);
    if (above == node) plans.untested.insert(number);
  }
}

// Trees of cohorts share nodes.
void Cycle::TestAgainForNodes() {
  for (auto& [root, plans] : plans_) {
    for (std::size_t i = 0; i < plans.above.size(); ++i) {
      if (!plans.above[i].entry->placed.empty()) plans.untested.insert(i);
    }
  }
}

// Call after an entry was processed. From now on count the entry's own claim in place of the usage
// its plan freed, count its victims as stopped, and test again every head above a plan that may
// have gained room.
void Cycle::NoteProcessed(const Entry& entry) {
  if (!plans_indexed_) return;
  const ClusterState& state = context_.state;
  const NodeId leaf = state.queue(entry.decision.cluster_queue).node;
  const Outcome outcome = entry.decision.outcome;
  const bool claims = outcome == Outcome::kAdmitted || outcome == Outcome::kQuotaReserved ||
                      outcome == Outcome::kPreempting || outcome == Outcome::kDeferred ||
                      entry.decision.remark == Remark::kWaitingForPodsReady ||
                      (entry.decision.remark == Remark::kOwnersComeFirst && !IsFair());
  std::vector<UsageAt> released;
  bool on_nodes = entry.input.plan != nullptr && !entry.placed.empty();
  const auto release = [&](ClusterQueueId queue, const Usage& usage, bool has_nodes) {
    released.push_back({state.queue(queue).node, &usage});
    on_nodes = on_nodes || has_nodes;
  };
  if (outcome == Outcome::kPreempting) {
    for (const PreemptionTarget& target : entry.targets) {
      const Reservation& gone = *target.reservation;
      release(gone.cluster_queue, gone.usage, !gone.placed.empty());
    }
  }
  if (entry.input.plan != nullptr) {
    for (const PreemptionPlan::Freed& freed : entry.input.plan->freed) {
      const Reservation* held = state.reservation(freed.victim);
      if (held != nullptr && held->evicted) continue;
      release(freed.cluster_queue, freed.usage, !freed.placed.empty());
    }
    if (!claims) release(entry.decision.cluster_queue, entry.decision.assignment.usage, false);
  }
  if (on_nodes) TestAgainForNodes();
  const NodeId root = state.tree().Root(leaf);
  const auto found = plans_.find(root);
  if (found == plans_.end()) return;
  PlansOfTree& plans = found->second;
  if (const auto needing = plans.needing.find(&entry); needing != plans.needing.end()) {
    plans.untested.insert(needing->second.begin(), needing->second.end());
    plans.needing.erase(needing);
  }
  if (released.empty()) return;
  if (!claims || !IsCoveredBy(entry, released)) return TestAgainBelow(plans, root);
  for (const UsageAt& each : released) {
    if (each.leaf == leaf || each.leaf == kNoQuotaNode) continue;
    TestAgainBelow(plans, BelowCommonCohort(state.tree(), each.leaf, leaf));
  }
}

void Cycle::SkipWithoutRoom(Entry& entry) {
  static const std::vector<PlacedPods> kNoNodes;
  Skip(entry, Remark::kNoLongerFits);
  ClusterState& state = context_.state;
  const NodeId leaf = state.queue(entry.decision.cluster_queue).node;
  auto keeper = preemptions_.KeeperOf(leaf, entry.decision.assignment.usage);
  if (keeper != nullptr) {
    entry.decision.remark = Remark::kHeldForPreemptor;
    entry.decision.held_for = std::move(keeper);
  }
  if (entry.input.plan == nullptr) return;
  // A head above took quota that the plan needs too. The freed usage is kept nevertheless.
  Usage kept = FreedOf(state, *entry.input.plan, entry.decision.assignment.usage);
  if (kept.empty()) return;
  state.tree().AddUsage(leaf, kept);
  preemptions_.AddClaim({leaf, std::move(kept), kNoNodes, entry.decision.object});
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

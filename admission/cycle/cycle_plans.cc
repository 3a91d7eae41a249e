#include "admission/cycle/cycle_plans.h"

#include <algorithm>
#include <utility>

#include "admission/quota/quota_room.h"

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

}  // namespace

// The holders of plans, and the entries before them, do not change until entries are processed.
void CyclePlans::Index(std::vector<CycleEntry>& entries) {
  indexed_ = true;
  const ClusterState& state = context_.state;
  const auto leaf_of = [&state](const CycleEntry& entry) {
    return state.queue(entry.input.head.cluster_queue).node;
  };
  for (CycleEntry& entry : entries) {
    if (entry.input.plan == nullptr) continue;
    PlansOfTree& plans = plans_[state.tree().Root(leaf_of(entry))];
    plans.holders.push_back(&entry);
    plans.priorities.push_back(entry.input.workload->priority);
    for (const PreemptionPlan::Freed& freed : entry.input.plan->freed) {
      if (!freed.uid.empty()) plans.freed_by[freed.uid].push_back(&entry);
    }
  }
  for (auto& [root, plans] : plans_) std::sort(plans.priorities.begin(), plans.priorities.end());
  for (CycleEntry& entry : entries) {
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
    plans.above.push_back(OrderOf(entry, context_.gates));
  }
  for (auto& [root, plans] : plans_) {
    Sort(state, plans.above);
    for (std::size_t i = 0; i < plans.above.size(); ++i) {
      plans.by_leaf[leaf_of(*plans.above[i].entry)] = i;
      plans.untested.insert(i);
    }
  }
}

// Inside a what-if: counts the quota that plans below `priority` have freed as taken, and gives the
// other plans their assignments.
void CyclePlans::CountPlans(const PlansOfTree& plans, std::int64_t priority) {
  ClusterState& state = context_.state;
  QuotaTree& tree = state.tree();
  for (const CycleEntry* holder : plans.holders) {
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
const CycleEntry* CyclePlans::HolderOf(const PlansOfTree& plans, const api::Workload& victim,
                                       const CycleEntry& head) const {
  const auto found = plans.freed_by.find(victim.meta.uid);
  if (found == plans.freed_by.end()) return nullptr;
  const auto holder =
      std::find_if(found->second.begin(), found->second.end(), [&head](const CycleEntry* each) {
        return !each->done && each->input.workload->priority < head.input.workload->priority;
      });
  return holder == found->second.end() ? nullptr : *holder;
}

// The holder of a plan whose victims the head would preempt too, or for which the head was itself
// preempted; null: none.
const CycleEntry* CyclePlans::HolderOfWhatItNeeds(const PlansOfTree& plans,
                                                  const CycleEntry& head) const {
  const CycleEntry* holder = HolderOf(plans, *head.decision.object, head);
  for (const PreemptionTarget& target : head.targets) {
    if (holder == nullptr) holder = HolderOf(plans, *target.reservation->object, head);
  }
  return holder;
}

// Inside the what-if in which plans are counted: whether the quota suffices once the head's own
// victims have stopped. For most heads it does not.
bool CyclePlans::MayFit(const CycleEntry& head) {
  ClusterState& state = context_.state;
  const ClusterState::WhatIf without_targets = state.Begin();
  for (const PreemptionTarget& target : head.targets) {
    if (!context_.search.IsExcluded(*target.reservation)) state.TakeOut(*target.reservation);
  }
  const bool fits = Fits(state.tree(), state.queue(head.input.head.cluster_queue).node,
                         head.decision.assignment.usage);
  state.RollBack(without_targets);
  return fits;
}

bool CyclePlans::HasRoomBesidePlans(const PlansOfTree& plans, const CycleEntry& head) {
  const ClusterState::WhatIf counted = context_.state.Begin();
  CountPlans(plans, head.input.workload->priority);
  const Room room = room_.RoomFor(head);
  context_.state.RollBack(counted);
  return room == Room::kEnough;
}

CyclePlans::HeadsAbove::HeadsAbove(CyclePlans& all, const CycleEntry& holder,
                                   std::vector<CycleEntry>& entries)
    : all_(all) {
  if (!all.context_.gates.priority_sorting_within_cohort) return;
  if (!all.indexed_) all.Index(entries);
  const ClusterState& state = all.context_.state;
  leaf_ = state.queue(holder.input.head.cluster_queue).node;
  plans_ = &all.plans_.at(state.tree().Root(leaf_));
  least_ = holder.input.workload->priority;
  if (plans_->untested.empty() || plans_->highest <= least_) return;
  tests_.assign(plans_->untested.begin(), plans_->untested.end());
}

void CyclePlans::HeadsAbove::EndWhatIf() {
  if (what_if_) all_.context_.state.RollBack(*std::exchange(what_if_, std::nullopt));
}

// Shows the plans to a head of the priority. Heads above the same plans share the what-if, in which
// all preempted reservations have stopped.
void CyclePlans::HeadsAbove::ShowPlans(std::int64_t priority) {
  const std::ptrdiff_t below =
      std::lower_bound(plans_->priorities.begin(), plans_->priorities.end(), priority) -
      plans_->priorities.begin();
  if (what_if_ && plans_below_ == below) return;
  EndWhatIf();
  what_if_ = all_.context_.state.Begin();
  plans_below_ = below;
  all_.CountPlans(*plans_, priority);
  all_.preemptions_.ShowStopped(leaf_);
}

CycleEntry* CyclePlans::HeadsAbove::Next() {
  while (next_ < tests_.size()) {
    const std::size_t number = tests_[next_++];
    CycleEntry& entry = *plans_->above[number].entry;
    const std::int64_t priority = entry.input.workload->priority;
    if (!entry.done && priority <= least_) continue;
    plans_->untested.erase(number);
    if (entry.done) continue;
    if (const CycleEntry* needed = all_.HolderOfWhatItNeeds(*plans_, entry)) {
      plans_->needing[needed].push_back(number);
      continue;
    }
    ShowPlans(priority);
    if (!all_.MayFit(entry)) continue;
    EndWhatIf();
    if (all_.HasRoomBesidePlans(*plans_, entry)) return &entry;
  }
  EndWhatIf();
  return nullptr;
}

// Whether the claim of the entry takes all of the released usage again, in all cohorts that the
// entry's queue shares with the queue of a released usage.
bool CyclePlans::IsCoveredBy(const CycleEntry& entry, const std::vector<UsageAt>& released) const {
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
        if (tree.AmountsOf(node, item.flavor_resource).local > 0) return false;
      }
    }
  }
  return true;
}

void CyclePlans::TestAgainBelow(PlansOfTree& plans, NodeId node) {
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
void CyclePlans::TestAgainForNodes() {
  for (auto& [root, plans] : plans_) {
    for (std::size_t i = 0; i < plans.above.size(); ++i) {
      if (!plans.above[i].entry->placed.empty()) plans.untested.insert(i);
    }
  }
}

void CyclePlans::NoteProcessed(const CycleEntry& entry) {
  if (!indexed_) return;
  const ClusterState& state = context_.state;
  const NodeId leaf = state.queue(entry.decision.cluster_queue).node;
  const Outcome outcome = entry.decision.outcome;
  const bool claims = outcome == Outcome::kAdmitted || outcome == Outcome::kQuotaReserved ||
                      outcome == Outcome::kPreempting || outcome == Outcome::kDeferred ||
                      entry.decision.remark == Remark::kWaitingForPodsReady;
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

}  // namespace berth::admission

#include "admission/tournament.h"

#include <algorithm>

namespace berth::admission {

void Tournament::Add(const Entrant& entrant) {
  const auto leaf = static_cast<std::size_t>(state_.queue(entrant.queue).node);
  if (leaf >= slot_of_leaf_.size()) slot_of_leaf_.resize(leaf + 1, -1);
  slot_of_leaf_[leaf] = static_cast<std::int32_t>(slots_.size());
  slots_.emplace_back().entrant = entrant;
}

std::int32_t Tournament::SlotAt(NodeId leaf) const {
  const auto index = static_cast<std::size_t>(leaf);
  if (index >= slot_of_leaf_.size() || slot_of_leaf_[index] < 0) return -1;
  const std::int32_t slot = slot_of_leaf_[index];
  return slots_[static_cast<std::size_t>(slot)].out ? -1 : slot;
}

void Tournament::ComputeStandings(Slot& slot) {
  QuotaTree& tree = state_.tree();
  if (slot.version == tree.version() && !slot.standings.empty()) return;
  slot.version = tree.version();
  slot.standings.clear();
  const NodeId leaf = state_.queue(slot.entrant.queue).node;
  const QuotaTree::Mark mark = tree.Begin();
  tree.AddUsage(leaf, *slot.entrant.usage);
  for (NodeId node = leaf; tree.parent(node) != kNoQuotaNode; node = tree.parent(node)) {
    Standing& standing = slot.standings.emplace_back();
    standing.cohort = tree.parent(node);
    standing.share = shares_.Of(node);
    standing.borrows =
        std::any_of(slot.entrant.usage->begin(), slot.entrant.usage->end(),
                    [&](const FlavorResourceAmount& item) {
                      return item.amount > 0 && tree.Borrowing(node, item.flavor_resource);
                    });
  }
  tree.RollBack(mark);
}

int Tournament::CompareAt(const Slot& a, const Slot& b, NodeId cohort) const {
  const auto at = [cohort](const Slot& slot) {
    return *std::find_if(slot.standings.begin(), slot.standings.end(),
                         [cohort](const Standing& s) { return s.cohort == cohort; });
  };
  const auto first_if = [](bool a_is_first) { return a_is_first ? -1 : 1; };
  if (gates_.prioritize_preemptor_workloads &&
      a.entrant.waits_for_preemption != b.entrant.waits_for_preemption) {
    return first_if(a.entrant.waits_for_preemption);
  }
  const Standing left = at(a);
  const Standing right = at(b);
  if (gates_.fair_sharing_prioritize_non_borrowing && left.borrows != right.borrows) {
    return first_if(!left.borrows);
  }
  if (const int order = Compare(left.share, right.share); order != 0) return order;
  const queue::WorkloadInfo& first = *a.entrant.workload;
  const queue::WorkloadInfo& second = *b.entrant.workload;
  if (gates_.priority_sorting_within_cohort && first.priority != second.priority) {
    return first_if(first.priority > second.priority);
  }
  if (first.queued_at != second.queued_at) return first_if(first.queued_at < second.queued_at);
  return 0;
}

Tournament::Slot* Tournament::Run(NodeId cohort) {
  Slot* best = nullptr;
  bool best_is_cohorts = false;
  for (const NodeId child : state_.tree().children(cohort)) {
    Slot* offered = nullptr;
    const bool is_cohorts = state_.QueueAt(child) < 0;
    if (is_cohorts) {
      offered = Run(child);
    } else if (const std::int32_t slot = SlotAt(child); slot >= 0) {
      offered = &slots_[static_cast<std::size_t>(slot)];
      ComputeStandings(*offered);
    }
    if (offered == nullptr) continue;
    int order = best == nullptr ? -1 : CompareAt(*offered, *best, cohort);
    if (order == 0 && is_cohorts != best_is_cohorts) order = is_cohorts ? -1 : 1;
    if (order == 0) order = Name(*offered) < Name(*best) ? -1 : 1;
    if (order > 0) continue;
    best = offered;
    best_is_cohorts = is_cohorts;
  }
  return best;
}

std::optional<std::size_t> Tournament::Next() {
  while (first_left_ < slots_.size() && slots_[first_left_].out) ++first_left_;
  if (first_left_ == slots_.size()) return std::nullopt;
  const NodeId leaf = state_.queue(slots_[first_left_].entrant.queue).node;
  const NodeId root = state_.tree().Root(leaf);
  Slot* winner = root == leaf ? &slots_[first_left_] : Run(root);
  winner->out = true;
  return winner->entrant.index;
}

}  // namespace berth::admission

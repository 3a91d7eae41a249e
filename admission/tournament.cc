#include "admission/tournament.h"

#include <algorithm>

namespace berth::admission {

void Tournament::Clear() {
  for (const Slot& slot : slots_) {
    slot_of_leaf_[static_cast<std::size_t>(slot.leaf)] = -1;
  }
  slots_.clear();
  for (const std::size_t used : used_brackets_) {
    brackets_[used].slots.clear();
    brackets_[used].next = 0;
    brackets_[used].ready = false;
  }
  used_brackets_.clear();
  first_left_ = 0;
}

void Tournament::Add(const Entrant& entrant) {
  const auto leaf = static_cast<std::size_t>(state_.queue(entrant.queue).node);
  if (leaf >= slot_of_leaf_.size()) slot_of_leaf_.resize(leaf + 1, -1);
  slot_of_leaf_[leaf] = static_cast<std::int32_t>(slots_.size());
  Slot& slot = slots_.emplace_back();
  slot.entrant = entrant;
  slot.leaf = static_cast<NodeId>(leaf);
}

bool Tournament::StandingsHold(const Slot& slot) const {
  return !slot.standings.empty() &&
         std::all_of(slot.standings.begin(), slot.standings.end(), [this](const Standing& s) {
           return s.version == state_.tree().usage_version(s.node);
         });
}

void Tournament::ComputeStandings(Slot& slot) {
  if (StandingsHold(slot)) return;
  QuotaTree& tree = state_.tree();
  slot.standings.clear();
  const NodeId leaf = state_.queue(slot.entrant.queue).node;
  for (NodeId node = leaf; tree.parent(node) != kNoQuotaNode; node = tree.parent(node)) {
    Standing& standing = slot.standings.emplace_back();
    standing.node = node;
    standing.cohort = tree.parent(node);
    standing.version = tree.usage_version(node);
  }
  const QuotaTree::Mark mark = tree.Begin();
  tree.AddUsage(leaf, *slot.entrant.usage);
  for (Standing& standing : slot.standings) {
    standing.share = shares_.Of(standing.node);
    standing.borrows =
        std::any_of(slot.entrant.usage->begin(), slot.entrant.usage->end(),
                    [&](const FlavorResourceAmount& item) {
                      return item.amount > 0 && tree.Borrowing(standing.node, item.flavor_resource);
                    });
  }
  tree.RollBack(mark);
}

int Tournament::CompareAt(const Slot& a, const Slot& b, NodeId cohort) const {
  const auto at = [cohort](const Slot& slot) -> const Standing& {
    return *std::find_if(slot.standings.begin(), slot.standings.end(),
                         [cohort](const Standing& s) { return s.cohort == cohort; });
  };
  const auto first_if = [](bool a_is_first) { return a_is_first ? -1 : 1; };
  if (a.entrant.goes_first != b.entrant.goes_first) return first_if(a.entrant.goes_first);
  const Standing& left = at(a);
  const Standing& right = at(b);
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

Tournament::Slot* Tournament::BestLeaf(NodeId cohort) {
  const auto index = static_cast<std::size_t>(cohort);
  if (index >= brackets_.size()) brackets_.resize(index + 1);
  Bracket& bracket = brackets_[index];
  const auto slot = [this](std::int32_t number) -> Slot& {
    return slots_[static_cast<std::size_t>(number)];
  };
  if (!bracket.ready) {
    bracket.ready = true;
    used_brackets_.push_back(index);
    for (const NodeId child : state_.tree().children(cohort)) {
      const auto leaf = static_cast<std::size_t>(child);
      if (leaf >= slot_of_leaf_.size() || slot_of_leaf_[leaf] < 0) continue;
      bracket.slots.push_back(slot_of_leaf_[leaf]);
      ComputeStandings(slot(slot_of_leaf_[leaf]));
    }
    std::sort(bracket.slots.begin(), bracket.slots.end(), [&](std::int32_t a, std::int32_t b) {
      const int order = CompareAt(slot(a), slot(b), cohort);
      return order != 0 ? order < 0 : a < b;
    });
  }
  while (bracket.next < bracket.slots.size() && slot(bracket.slots[bracket.next]).out) {
    ++bracket.next;
  }
  if (bracket.next == bracket.slots.size()) return nullptr;
  Slot& best = slot(bracket.slots[bracket.next]);
  ComputeStandings(best);  // higher up they may have changed
  return &best;
}

Tournament::Slot* Tournament::Run(NodeId cohort) {
  Slot* best = BestLeaf(cohort);
  bool best_is_cohorts = false;
  for (const NodeId child : state_.tree().children(cohort)) {
    if (state_.QueueAt(child) >= 0) continue;
    Slot* offered = Run(child);
    if (offered == nullptr) continue;
    int order = best == nullptr ? -1 : CompareAt(*offered, *best, cohort);
    if (order == 0) order = !best_is_cohorts || offered < best ? -1 : 1;
    if (order > 0) continue;
    best = offered;
    best_is_cohorts = true;
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

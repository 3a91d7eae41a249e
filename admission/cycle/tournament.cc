#include "admission/cycle/tournament.h"

#include <algorithm>
#include <utility>

namespace berth::admission {

void Tournament::Clear() {
  for (const Slot& known : slots_) slot_of_leaf_[static_cast<std::size_t>(known.leaf)] = kNobody;
  slots_.clear();
  for (const NodeId used : used_brackets_) {
    Bracket& cleared = bracket(used);
    cleared.slots.clear();
    cleared.offers.clear();
    cleared.to_be_asked.clear();
    cleared.next = 0;
    cleared.best = kNobody;
    cleared.used = cleared.sorted = cleared.settled = false;
  }
  used_brackets_.clear();
  first_left_ = 0;
}

void Tournament::Add(const Entrant& entrant) {
  const auto number = static_cast<std::int32_t>(slots_.size());
  Slot& added = slots_.emplace_back();
  added.entrant = entrant;
  added.leaf = state_.queue(entrant.queue).node;
  const auto leaf = static_cast<std::size_t>(added.leaf);
  if (leaf >= slot_of_leaf_.size()) slot_of_leaf_.resize(leaf + 1, kNobody);
  slot_of_leaf_[leaf] = number;
  const NodeId cohort = state_.tree().parent(added.leaf);
  if (cohort == kNoQuotaNode) return;
  Use(cohort);
  bracket(cohort).slots.push_back(number);
}

void Tournament::Use(NodeId cohort) {
  const std::size_t first = used_brackets_.size();
  const auto number_levels = [&](std::size_t level) {
    for (std::size_t i = used_brackets_.size(); i-- > first;) {
      bracket(used_brackets_[i]).level = level++;
    }
  };
  while (true) {
    const auto index = static_cast<std::size_t>(cohort);
    if (index >= brackets_.size()) brackets_.resize(index + 1);
    if (std::exchange(brackets_[index].used, true)) {
      return number_levels(brackets_[index].level + 1);
    }
    used_brackets_.push_back(cohort);
    const NodeId above = state_.tree().parent(cohort);
    if (above == kNoQuotaNode) return number_levels(0);
    if (static_cast<std::size_t>(above) >= brackets_.size()) {
      brackets_.resize(static_cast<std::size_t>(above) + 1);
    }
    bracket(above).to_be_asked.push_back(cohort);
    cohort = above;
  }
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
  const NodeId leaf = slot.leaf;
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
    standing.borrows = std::any_of(
        slot.entrant.usage->begin(), slot.entrant.usage->end(),
        [&](const FlavorResourceAmount& item) {
          return item.amount > 0 && tree.AmountsOf(standing.node, item.flavor_resource).Borrowing();
        });
  }
  tree.RollBack(mark);
}

Tournament::Rank Tournament::RankAt(const Slot& slot, NodeId cohort) {
  // Standings are stored from the bottom up, the root's last.
  const Standing& standing = slot.standings[slot.standings.size() - 1 - bracket(cohort).level];
  return {slot.entrant.goes_first, standing.borrows, standing.share, slot.entrant.workload};
}

int Tournament::Compare(const Rank& a, const Rank& b) const {
  const auto first_if = [](bool a_is_first) { return a_is_first ? -1 : 1; };
  if (a.goes_first != b.goes_first) return first_if(a.goes_first);
  if (gates_.fair_sharing_prioritize_non_borrowing && a.borrows != b.borrows) {
    return first_if(!a.borrows);
  }
  if (const int order = admission::Compare(a.share, b.share); order != 0) return order;
  const queue::WorkloadInfo& first = *a.workload;
  const queue::WorkloadInfo& second = *b.workload;
  if (gates_.priority_sorting_within_cohort && first.priority != second.priority) {
    return first_if(first.priority > second.priority);
  }
  if (first.queued_at != second.queued_at) return first_if(first.queued_at < second.queued_at);
  return 0;
}

bool Tournament::Before(const Offer& a, const Offer& b) const {
  const int order = Compare(a.rank, b.rank);
  return order != 0 ? order < 0 : a.slot < b.slot;
}

std::int32_t Tournament::BestLeaf(NodeId cohort) {
  Bracket& asked = bracket(cohort);
  if (!asked.sorted) {  // no cohort has offers yet, so their memory is free
    asked.sorted = true;
    std::vector<Offer>& order = asked.offers;
    for (const std::int32_t number : asked.slots) {
      ComputeStandings(slot(number));
      order.push_back({RankAt(slot(number), cohort), number, cohort, 0});
    }
    std::sort(order.begin(), order.end(),
              [this](const Offer& a, const Offer& b) { return Before(a, b); });
    for (std::size_t i = 0; i < order.size(); ++i) asked.slots[i] = order[i].slot;
    order.clear();
  }
  while (asked.next < asked.slots.size() && slot(asked.slots[asked.next]).out) ++asked.next;
  return asked.next == asked.slots.size() ? kNobody : asked.slots[asked.next];
}

// Cohorts below first: iterative, since trees may be deeper than the stack.
std::int32_t Tournament::Best(NodeId cohort) {
  open_.assign(1, cohort);
  while (!open_.empty()) {
    const NodeId next = open_.back();
    const std::size_t before = open_.size();
    if (!bracket(next).settled) {
      for (const NodeId child : bracket(next).to_be_asked) {
        if (!bracket(child).settled) open_.push_back(child);
      }
    }
    if (open_.size() > before) continue;
    open_.pop_back();
    if (!bracket(next).settled) SettleCohort(next);
  }
  return bracket(cohort).best;
}

// Precondition: the cohorts below are settled.
void Tournament::SettleCohort(NodeId cohort) {
  Bracket& asked = bracket(cohort);
  asked.settled = true;
  asked.best = BestLeaf(cohort);
  const auto later = [this](const Offer& a, const Offer& b) { return Before(b, a); };
  for (const NodeId child : asked.to_be_asked) {
    const std::int32_t offered = bracket(child).best;
    const std::uint32_t number = ++bracket(child).last_offer;
    if (offered == kNobody) continue;
    asked.offers.push_back({RankAt(slot(offered), cohort), offered, child, number});
    std::push_heap(asked.offers.begin(), asked.offers.end(), later);
  }
  asked.to_be_asked.clear();
  const auto holds = [this](const Offer& offer) {
    return offer.number == bracket(offer.cohort).last_offer;
  };
  while (!asked.offers.empty() && !holds(asked.offers.front())) {
    std::pop_heap(asked.offers.begin(), asked.offers.end(), later);
    asked.offers.pop_back();
  }
  if (asked.best != kNobody) ComputeStandings(slot(asked.best));
  if (!asked.offers.empty() &&
      (asked.best == kNobody ||
       Compare(asked.offers.front().rank, RankAt(slot(asked.best), cohort)) <= 0)) {
    asked.best = asked.offers.front().slot;
    ComputeStandings(slot(asked.best));  // shares in higher cohorts may have changed
  }
}

// Precondition: all cohorts above the leaf are settled.
void Tournament::AskAgain(NodeId leaf) {
  NodeId child = leaf;
  for (NodeId cohort = state_.tree().parent(leaf); cohort != kNoQuotaNode;
       cohort = state_.tree().parent(cohort)) {
    bracket(cohort).settled = false;
    if (child != leaf) bracket(cohort).to_be_asked.push_back(child);
    child = cohort;
  }
}

void Tournament::Withdraw(ClusterQueueId queue) {
  const NodeId leaf = state_.queue(queue).node;
  const auto index = static_cast<std::size_t>(leaf);
  if (index >= slot_of_leaf_.size() || slot_of_leaf_[index] == kNobody) return;
  slot(slot_of_leaf_[index]).out = true;
  AskAgain(leaf);
}

std::optional<std::size_t> Tournament::Next() {
  while (first_left_ < slots_.size() && slots_[first_left_].out) ++first_left_;
  if (first_left_ == slots_.size()) return std::nullopt;
  const NodeId leaf = slots_[first_left_].leaf;
  const NodeId root = state_.tree().Root(leaf);
  Slot& winner = root == leaf ? slots_[first_left_] : slot(Best(root));
  winner.out = true;
  AskAgain(winner.leaf);
  return winner.entrant.index;
}

}  // namespace berth::admission

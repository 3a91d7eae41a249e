#include "admission/cycle/cycle_room.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "admission/quota/quota_room.h"

namespace berth::admission {
namespace {

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

Room CycleRoom::RoomFor(const CycleEntry& entry) {
  ClusterState& state = context_.state;
  const NodeId leaf = state.queue(entry.input.head.cluster_queue).node;
  const auto look = [&] {
    if (entry.input.reserved == nullptr &&
        !Fits(state.tree(), leaf, entry.decision.assignment.usage)) {
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

void CycleRoom::CountIn(const CycleEntry& entry) {
  ClusterState& state = context_.state;
  if (entry.input.reserved == nullptr) {
    state.tree().AddUsage(state.queue(entry.decision.cluster_queue).node,
                          entry.decision.assignment.usage);
  }
  state.placer().Use(entry.placed);
}

void CycleRoom::Claim(const CycleEntry& entry) {
  CountIn(entry);
  const NodeId leaf = context_.state.queue(entry.decision.cluster_queue).node;
  const bool holds_quota = entry.input.reserved != nullptr;
  preemptions_.AddClaim({leaf, holds_quota ? Usage{} : entry.decision.assignment.usage,
                         entry.placed,
                         entry.input.plan != nullptr ? entry.decision.object : nullptr});
}

void CycleRoom::ReserveForPreemptor(const CycleEntry& entry) {
  const QueueState& queue = context_.state.queue(entry.decision.cluster_queue);
  // A queue that may reclaim from any workload needs no reserved quota, unless its preemptions are
  // under way.
  if (queue.spec.preemption.reclaim_within_cohort == api::PreemptionPolicy::kAny &&
      !entry.input.waits_for_preemption) {
    return;
  }
  QuotaTree& tree = context_.state.tree();
  Usage reserved;
  for (const FlavorResourceAmount& item : entry.decision.assignment.usage) {
    const FlavorResourceId fr = item.flavor_resource;
    const Amount used = preemptions_.UsageNow(entry.decision.cluster_queue, fr);
    const Amount room = api::SubtractAmounts(tree.AmountsOf(queue.node, fr).nominal, used);
    Amount amount = item.amount;
    if (entry.decision.assignment.borrow_height == 0) {
      amount = std::max<Amount>(0, std::min(amount, room));
    } else if (const auto limit = tree.AmountsOf(queue.node, fr).BorrowingLimit()) {
      amount = std::min(amount, api::AddAmounts(room, *limit));
    }
    reserved.push_back({fr, amount});
  }
  if (entry.input.reserved != nullptr) reserved.clear();
  tree.AddUsage(queue.node, reserved);
  context_.state.placer().Use(entry.placed);
  erase_if(reserved, [](const auto& item) { return item.amount <= 0; });  // above the limit
  preemptions_.AddClaim({queue.node, std::move(reserved), entry.placed, nullptr});
}

void CycleRoom::KeepFreed(const CycleEntry& entry) {
  static const std::vector<PlacedPods> kNoNodes;
  ClusterState& state = context_.state;
  const NodeId leaf = state.queue(entry.decision.cluster_queue).node;
  Usage kept = FreedOf(state, *entry.input.plan, entry.decision.assignment.usage);
  if (kept.empty()) return;
  state.tree().AddUsage(leaf, kept);
  preemptions_.AddClaim({leaf, std::move(kept), kNoNodes, entry.decision.object});
}

}  // namespace berth::admission

#include "admission/preemption/preemption.h"

#include <utility>

#include "admission/quota/quota_room.h"

namespace berth::admission {

PreemptionSearch::PreemptionSearch(ClusterState& state, const FeatureGates& gates,
                                   const std::optional<FairSharing>& fair_sharing)
    : state_(state),
      shares_(state),
      candidates_(state),
      trial_(state, candidates_),
      classical_(state, candidates_, trial_) {
  if (fair_sharing) fair_.emplace(state, gates, *fair_sharing, shares_, candidates_, trial_);
}

PreemptionTargets PreemptionSearch::Find(const PreemptionRequest& request,
                                         SparedCandidates* spared) {
  candidates_.Begin(request, spared);
  trial_.Clear();
  const ClusterState::WhatIf what_if = state_.Begin();
  PreemptionTargets found = fair_ ? fair_->Find() : classical_.Find();
  state_.RollBack(what_if);
  candidates_.End(!found.empty());
  return found;
}

PreemptionTargets PreemptionSearch::Keep(const PreemptionRequest& request,
                                         const SmallVector<WorkloadId, 2>& victims) {
  candidates_.Begin(request, nullptr);
  trial_.Clear();
  const ClusterState::WhatIf what_if = state_.Begin();
  for (const WorkloadId victim : victims) {
    const Reservation* held = state_.reservation(victim);
    if (held == nullptr || !held->evicted || IsExcluded(*held)) continue;
    // The quota is gone with the queue.
    if (!state_.cluster_queues().Has(held->cluster_queue)) continue;
    trial_.Take(*held, PreemptionReason::kInClusterQueue);
  }
  const bool fits = !trial_.targets().empty() && trial_.Fits(Borrowing::kAllowed);
  if (fits) trial_.PutBackUnneeded(Borrowing::kAllowed);
  state_.RollBack(what_if);
  if (!fits) return {};
  return trial_.targets();
}

PreemptionOracle::Answer WorkloadOracle::Simulate(FlavorResourceId flavor_resource, Amount amount) {
  Memory& memory = last_.emplace(Memory{});
  memory.request = {&workload_, queue_, {{flavor_resource, amount}}, {flavor_resource}};
  memory.version = state_.tree().version();
  memory.targets = search_.Find(memory.request, &memory.spared);
  QuotaTree& tree = state_.tree();
  const NodeId leaf = state_.queue(queue_).node;
  Answer answer;
  if (memory.targets.empty()) {
    answer.borrow_height = LowestSubtreeThatFits(tree, leaf, flavor_resource, amount).height;
    return answer;
  }
  const QuotaTree::Mark mark = tree.Begin();
  answer.possibility = PreemptionPossibility::kReclaim;
  for (const PreemptionTarget& target : memory.targets) {
    const ClusterQueueId from = target.reservation->cluster_queue;
    tree.RemoveUsage(state_.queue(from).node, target.reservation->usage);
    if (from == queue_) answer.possibility = PreemptionPossibility::kPreempt;
  }
  answer.borrow_height = LowestSubtreeThatFits(tree, leaf, flavor_resource, amount).height;
  tree.RollBack(mark);
  return answer;
}

PreemptionTargets WorkloadOracle::Targets(const PreemptionRequest& request,
                                          SparedCandidates* spared) {
  if (last_ && last_->version == state_.tree().version() && last_->request == request) {
    if (spared != nullptr) *spared = last_->spared;
    return last_->targets;
  }
  return search_.Find(request, spared);
}

}  // namespace berth::admission

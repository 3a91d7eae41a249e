#include "admission/cycle/cycle_preemptions.h"

#include <algorithm>

namespace berth::admission {

void CyclePreemptions::Clear() {
  preempted_.clear();
  claims_.clear();
  claims_of_nodes_.clear();
  kept_.clear();
  for (const NodeId root : used_roots_) {
    OfRoot& used = of_root_[static_cast<std::size_t>(root)];
    used.preempted.clear();
    used.claims.clear();
  }
  used_roots_.clear();
}

const CyclePreemptions::OfRoot* CyclePreemptions::Find(NodeId leaf) const {
  const auto root = static_cast<std::size_t>(state_.tree().Root(leaf));
  return root < of_root_.size() ? &of_root_[root] : nullptr;
}

CyclePreemptions::OfRoot& CyclePreemptions::Get(NodeId leaf) {
  const NodeId root = state_.tree().Root(leaf);
  const auto slot = static_cast<std::size_t>(root);
  if (slot >= of_root_.size()) of_root_.resize(slot + 1);
  OfRoot& found = of_root_[slot];
  if (found.preempted.empty() && found.claims.empty()) used_roots_.push_back(root);
  return found;
}

void CyclePreemptions::Add(const Reservation& preempted) {
  const NodeId leaf = state_.queue(preempted.cluster_queue).node;
  Get(leaf).preempted.push_back(&preempted);
  preempted_.push_back(&preempted);
  if (quota_leaves_at_once_) state_.tree().RemoveUsage(leaf, preempted.usage);
}

void CyclePreemptions::AddClaim(Claim claim) {
  const std::size_t number = claims_.size();
  Get(claim.leaf).claims.push_back(number);
  if (!claim.placed.empty()) claims_of_nodes_.push_back(number);
  if (claim.preemptor != nullptr) {
    const NodeId root = state_.tree().Root(claim.leaf);
    for (const FlavorResourceAmount& item : claim.usage) {
      kept_.try_emplace({root, item.flavor_resource}, number);
    }
  }
  claims_.push_back(std::move(claim));
}

void CyclePreemptions::ShowStopped(NodeId leaf) {
  for (const Reservation* gone : preempted_) {
    if (!gone->placed.empty()) state_.placer().Free(gone->placed);
  }
  if (quota_leaves_at_once_ || preempted_.empty()) return;
  const OfRoot* of_root = Find(leaf);
  if (of_root == nullptr) return;
  for (const Reservation* gone : of_root->preempted) {
    state_.tree().RemoveUsage(state_.queue(gone->cluster_queue).node, gone->usage);
  }
}

void CyclePreemptions::ShowNow(NodeId leaf) {
  if (const OfRoot* of_root = Find(leaf)) {
    for (const Reservation* running : of_root->preempted) {
      if (!quota_leaves_at_once_) break;
      state_.tree().AddUsage(state_.queue(running->cluster_queue).node, running->usage);
    }
    for (const std::size_t number : of_root->claims) {
      state_.tree().RemoveUsage(claims_[number].leaf, claims_[number].usage);
    }
  }
  for (const std::size_t number : claims_of_nodes_) state_.placer().Free(claims_[number].placed);
}

Amount CyclePreemptions::UsageNow(ClusterQueueId queue, FlavorResourceId fr) const {
  const NodeId leaf = state_.queue(queue).node;
  Amount used = state_.tree().AmountsOf(leaf, fr).usage;
  const OfRoot* of_root = Find(leaf);
  if (!quota_leaves_at_once_ || of_root == nullptr) return used;
  for (const Reservation* running : of_root->preempted) {
    if (running->cluster_queue != queue) continue;
    for (const FlavorResourceAmount& held : running->usage) {
      if (held.flavor_resource == fr) used = api::AddAmounts(used, held.amount);
    }
  }
  return used;
}

std::shared_ptr<const api::Workload> CyclePreemptions::KeeperOf(NodeId leaf,
                                                                const Usage& usage) const {
  const NodeId root = state_.tree().Root(leaf);
  std::size_t first = claims_.size();
  for (const FlavorResourceAmount& item : usage) {
    const auto found = kept_.find({root, item.flavor_resource});
    if (found != kept_.end()) first = std::min(first, found->second);
  }
  return first == claims_.size() ? nullptr : claims_[first].preemptor;
}

}  // namespace berth::admission

#include "admission/preemption.h"

#include <algorithm>
#include <utility>

namespace berth::admission {

bool PreemptionSearch::Excluded(const Reservation& reservation) const {
  return std::find(excluded_.begin(), excluded_.end(), &reservation) != excluded_.end();
}

bool PreemptionSearch::Contests(const Reservation& reservation) const {
  return std::any_of(request_->contested.begin(), request_->contested.end(),
                     [&reservation](FlavorResourceId fr) { return reservation.Uses(fr); });
}

bool PreemptionSearch::PolicyAllows(const Reservation& candidate,
                                    api::PreemptionPolicy policy) const {
  const bool lower = candidate.priority < request_->workload->priority;
  switch (policy) {
    case api::PreemptionPolicy::kNever: return false;
    case api::PreemptionPolicy::kLowerPriority: return lower;
    case api::PreemptionPolicy::kLowerOrNewerEqualPriority:
      return lower || (candidate.priority == request_->workload->priority &&
                       request_->workload->queued_at < candidate.queued_at);
    case api::PreemptionPolicy::kAny: return true;
  }
  return false;
}

bool PreemptionSearch::WithinNominal(NodeId node) const {
  return std::none_of(
      request_->contested.begin(), request_->contested.end(),
      [this, node](FlavorResourceId fr) { return state_.tree().Borrowing(node, fr); });
}

bool PreemptionSearch::WorkloadFits(Borrowing borrowing) const {
  const QuotaTree& tree = state_.tree();
  for (const FlavorResourceAmount& item : request_->usage) {
    if (borrowing == Borrowing::kForbidden &&
        tree.BorrowingWith(queue_->node, item.flavor_resource, item.amount)) {
      return false;
    }
    if (item.amount > tree.Available(queue_->node, item.flavor_resource)) return false;
  }
  if (request_->placements.empty()) return true;
  return !state_.placer()
              .Place(*request_->workload->object, request_->placements, CountShape::Usage::kAsUsed)
              .failure;
}

void PreemptionSearch::Spare(const Reservation& candidate, SparedCandidate::Cause cause) {
  if (spared_ == nullptr || spared_->size() >= kMaxSpared) return;
  spared_->push_back({candidate.workload, cause});
}

void PreemptionSearch::SpareByPolicy(const Reservation& other) {
  if (spared_ == nullptr || spared_->size() >= kMaxSparedByPolicy || Excluded(other) ||
      !Contests(other)) {
    return;
  }
  spared_->push_back({other.workload, SparedCandidate::Cause::kPolicy});
}

void PreemptionSearch::Take(const Reservation& reservation) { state_.TakeOut(reservation); }

void PreemptionSearch::GiveBack(const Reservation& reservation) { state_.PutBack(reservation); }

void PreemptionSearch::PutBackUnneeded(PreemptionTargets& targets, Borrowing borrowing) {
  for (std::size_t i = targets.size() - 1; i-- > 0;) {
    GiveBack(*targets[i].reservation);
    if (!WorkloadFits(borrowing)) {
      Take(*targets[i].reservation);
      continue;
    }
    Spare(*targets[i].reservation, SparedCandidate::Cause::kNotNeeded);
    targets[i] = targets.back();
    targets.pop_back();
  }
}

PreemptionTargets PreemptionSearch::Find(const PreemptionRequest& request,
                                         SparedCandidates* spared) {
  request_ = &request;
  queue_ = &state_.queue(request.queue);
  spared_ = spared;
  targets_.clear();
  const ClusterState::WhatIf what_if = state_.Begin();
  PreemptionTargets found = fair_sharing_ ? FindFair() : FindClassical();
  state_.RollBack(what_if);
  return found;
}

PreemptionSearch::Variant PreemptionSearch::Classify(const Reservation& candidate,
                                                     bool advantage) const {
  if (Excluded(candidate) || !Contests(candidate)) return Variant::kNever;
  const api::QueuePreemption& preemption = queue_->spec.preemption;
  const bool own = candidate.cluster_queue == request_->queue;
  if (!PolicyAllows(candidate,
                    own ? preemption.within_cluster_queue : preemption.reclaim_within_cohort)) {
    return Variant::kNever;
  }
  if (own) return Variant::kWithinQueue;
  if (advantage) return Variant::kHierarchicalReclaim;
  if (preemption.borrow_within_cohort == api::PreemptionPolicy::kNever ||
      candidate.priority >= request_->workload->priority) {
    return Variant::kReclaimWithoutBorrowing;
  }
  const std::optional<std::int32_t>& threshold = preemption.borrow_max_priority_threshold;
  return threshold && candidate.priority > *threshold ? Variant::kReclaimWithoutBorrowing
                                                      : Variant::kReclaimWhileBorrowing;
}

void PreemptionSearch::CollectQueue(ClusterQueueId queue, NodeId subtree, bool advantage,
                                    std::vector<Candidate>& candidates) {
  for (const Reservation* reservation : state_.queue(queue).reservations) {
    const Variant variant = Classify(*reservation, advantage);
    if (variant == Variant::kNever) {
      SpareByPolicy(*reservation);
    } else {
      candidates.push_back({reservation, subtree, variant});
    }
  }
}

void PreemptionSearch::CollectSubtree(NodeId cohort, NodeId subtree, NodeId skip, bool advantage,
                                      std::vector<Candidate>& candidates) {
  for (const NodeId child : state_.tree().children(cohort)) {
    if (child == skip || child == queue_->node) continue;
    const ClusterQueueId queue = state_.QueueAt(child);
    // Who keeps within its quota has nothing to give back, nor has anybody below.
    if (WithinNominal(child)) continue;
    if (queue < 0) {
      CollectSubtree(child, subtree, skip, advantage, candidates);
    } else if (state_.Usable(queue)) {
      CollectQueue(queue, subtree, advantage, candidates);
    }
  }
}

void PreemptionSearch::CollectOthers() {
  const QuotaTree& tree = state_.tree();
  if (tree.parent(queue_->node) == kNoQuotaNode ||
      queue_->spec.preemption.reclaim_within_cohort == api::PreemptionPolicy::kNever) {
    return;
  }
  // The preemptor has an advantage over all outside the smallest subtree whose quota it stays in.
  Usage remaining = request_->usage;
  const auto fits_quota = [&](NodeId node) {
    bool fits = true;
    for (FlavorResourceAmount& item : remaining) {
      fits = fits && !tree.BorrowingWith(node, item.flavor_resource, item.amount);
      const Amount local = tree.LocalAvailable(node, item.flavor_resource);
      item.amount = std::max<Amount>(0, api::SubtractAmounts(item.amount, local));
    }
    return fits;
  };
  bool advantage = fits_quota(queue_->node);
  NodeId before = kNoQuotaNode;
  for (NodeId node = tree.parent(queue_->node); node != kNoQuotaNode; node = tree.parent(node)) {
    CollectSubtree(node, node, before, advantage, advantage ? hierarchical_ : by_priority_);
    advantage = fits_quota(node) || advantage;
    before = node;
  }
}

double PreemptionSearch::LocalQueueUsage(const Reservation& candidate) const {
  const api::Workload& object = *candidate.object;
  return ledger_->UsageOf({object.meta.namespace_name, object.spec.queue_name});
}

void PreemptionSearch::CollectClassical() {
  own_.clear();
  hierarchical_.clear();
  by_priority_.clear();
  if (queue_->spec.preemption.within_cluster_queue != api::PreemptionPolicy::kNever) {
    CollectQueue(request_->queue, kNoQuotaNode, false, own_);  // sorted as the queue keeps them
  }
  CollectOthers();
  const auto before = [](const Candidate& a, const Candidate& b) {
    return TakenBefore(*a.reservation, *b.reservation);
  };
  std::sort(hierarchical_.begin(), hierarchical_.end(), before);
  std::sort(by_priority_.begin(), by_priority_.end(), before);
  for (auto* list : {&hierarchical_, &by_priority_, &own_}) {
    OrderByUsage(*list, [](const Candidate& c) -> const Reservation& { return *c.reservation; });
  }
  order_.clear();
  for (const bool evicted : {true, false}) {
    for (const auto* list : {&hierarchical_, &by_priority_, &own_}) {
      for (const Candidate& candidate : *list) {
        if (candidate.reservation->evicted == evicted) order_.push_back(candidate);
      }
    }
  }
}

std::optional<SparedCandidate::Cause> PreemptionSearch::WhyInvalid(const Candidate& candidate,
                                                                   Borrowing borrowing) const {
  if (candidate.variant == Variant::kWithinQueue) return std::nullopt;
  if (borrowing == Borrowing::kAllowed && candidate.variant == Variant::kReclaimWithoutBorrowing) {
    return SparedCandidate::Cause::kNeedsNoBorrowing;
  }
  NodeId node = state_.queue(candidate.reservation->cluster_queue).node;
  for (; node != candidate.common_ancestor; node = state_.tree().parent(node)) {
    if (WithinNominal(node)) return SparedCandidate::Cause::kQueueWithinNominal;
  }
  return std::nullopt;
}

std::optional<PreemptionTargets> PreemptionSearch::Attempt(Borrowing borrowing) {
  const ClusterState::WhatIf what_if = state_.Begin();
  targets_.clear();
  bool fits = false;
  for (const Candidate& candidate : order_) {
    if (const auto cause = WhyInvalid(candidate, borrowing)) {
      Spare(*candidate.reservation, *cause);
      continue;
    }
    Take(*candidate.reservation);
    PreemptionReason reason = PreemptionReason::kInCohortReclamation;
    if (candidate.variant == Variant::kWithinQueue) reason = PreemptionReason::kInClusterQueue;
    if (candidate.variant == Variant::kReclaimWhileBorrowing) {
      reason = PreemptionReason::kInCohortReclaimWhileBorrowing;
    }
    targets_.push_back({candidate.reservation, reason});
    fits = WorkloadFits(borrowing);
    if (fits) break;
  }
  if (fits) PutBackUnneeded(targets_, borrowing);
  state_.RollBack(what_if);
  if (!fits) return std::nullopt;
  return targets_;
}

PreemptionTargets PreemptionSearch::FindClassical() {
  CollectClassical();
  if (order_.empty()) return {};
  const bool borrowing_forbidden =
      queue_->spec.preemption.borrow_within_cohort == api::PreemptionPolicy::kNever;
  const bool under_nominal = std::all_of(
      request_->contested.begin(), request_->contested.end(), [this](FlavorResourceId fr) {
        return state_.tree().UsageOf(queue_->node, fr) < state_.tree().Nominal(queue_->node, fr);
      });
  const bool none_elsewhere = hierarchical_.empty() && by_priority_.empty();
  std::vector<Borrowing> attempts = {Borrowing::kAllowed, Borrowing::kForbidden};
  if (none_elsewhere || (borrowing_forbidden && !under_nominal)) {
    attempts = {Borrowing::kAllowed};
  } else if (borrowing_forbidden && hierarchical_.empty()) {
    attempts = {Borrowing::kForbidden, Borrowing::kAllowed};
  }
  for (const Borrowing borrowing : attempts) {
    if (auto found = Attempt(borrowing)) return *std::move(found);
  }
  return {};
}

PreemptionOracle::Answer SearchOracle::Simulate(FlavorResourceId flavor_resource, Amount amount) {
  Memory memory;
  memory.request = {&workload_, queue_, {{flavor_resource, amount}}, {flavor_resource}};
  memory.version = state_.tree().version();
  memory.targets = search_.Find(memory.request, &memory.spared);
  QuotaTree& tree = state_.tree();
  const NodeId leaf = state_.queue(queue_).node;
  Answer answer;
  if (memory.targets.empty()) {
    answer.borrow_height = tree.LowestSubtreeThatFits(leaf, flavor_resource, amount).height;
    last_ = std::move(memory);
    return answer;
  }
  const QuotaTree::Mark mark = tree.Begin();
  answer.possibility = PreemptionPossibility::kReclaim;
  for (const PreemptionTarget& target : memory.targets) {
    const ClusterQueueId from = target.reservation->cluster_queue;
    tree.RemoveUsage(state_.queue(from).node, target.reservation->usage);
    if (from == queue_) answer.possibility = PreemptionPossibility::kPreempt;
  }
  answer.borrow_height = tree.LowestSubtreeThatFits(leaf, flavor_resource, amount).height;
  tree.RollBack(mark);
  last_ = std::move(memory);
  return answer;
}

PreemptionTargets SearchOracle::Targets(const PreemptionRequest& request,
                                        SparedCandidates* spared) {
  if (last_ && last_->version == state_.tree().version() && last_->request == request) {
    if (spared != nullptr) *spared = last_->spared;
    return last_->targets;
  }
  return search_.Find(request, spared);
}

}  // namespace berth::admission

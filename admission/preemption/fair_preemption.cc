#include "admission/preemption/fair_preemption.h"

#include <algorithm>

namespace berth::admission {
namespace {

// Breaks ties between queues with equal share by comparing their first candidates: already evicted
// ones win, then ones outside the preemptor's queue, then the usual candidate order.
template <typename QueueCandidates>
bool WinsTie(const QueueCandidates& a, const QueueCandidates& b, ClusterQueueId preemptors) {
  const Reservation& first = a.front();
  const Reservation& second = b.front();
  if (first.evicted != second.evicted) return first.evicted;
  if ((a.queue == preemptors) != (b.queue == preemptors)) return b.queue == preemptors;
  return TakenBefore(first, second);
}

}  // namespace

void FairPreemption::CollectQueue(const QueueState& queue, ClusterQueueId id,
                                  api::PreemptionPolicy policy) {
  const std::vector<ListedReservation>& reservations = state_.reservations().Of(id);
  candidates_.SpareByPolicy(reservations, policy);
  const std::size_t first = candidates_.Next(reservations, 0, policy);
  if (first == reservations.size()) return;
  if (queue_count_ == queues_.size()) queues_.emplace_back();
  const auto slot = static_cast<std::size_t>(queue.node);
  if (slot >= queue_slots_.size()) queue_slots_.resize(slot + 1, -1);
  queue_slots_[slot] = static_cast<std::int32_t>(queue_count_);
  QueueCandidates& candidates = queues_[queue_count_++];
  candidates.queue = id;
  candidates.leaf = queue.node;
  candidates.policy = policy;
  candidates.list = &reservations;
  candidates.left.clear();
  candidates.refused.clear();
  candidates.next = first;
  candidates.pruned = false;
  if (!candidates_.by_turn() && !candidates_.by_work()) return;
  for (std::size_t i = first; i < reservations.size();
       i = candidates_.Next(reservations, i + 1, policy)) {
    candidates.left.push_back(reservations[i].reservation);
  }
  const auto reservation_of = [](const Reservation* r) -> const Reservation& { return *r; };
  candidates_.OrderByTurn(candidates.left, reservation_of);
  if (candidates_.by_work()) candidates_.OrderByWork(candidates.left, reservation_of);
  candidates.list = nullptr;
  candidates.next = 0;
}

void FairPreemption::Collect() {
  for (std::size_t i = 0; i < queue_count_; ++i) {
    queue_slots_[static_cast<std::size_t>(queues_[i].leaf)] = -1;
  }
  queue_count_ = 0;
  ++round_;  // no cohort is pruned
  const api::QueuePreemption& preemption = candidates_.queue().spec.preemption;
  if (candidates_.MayPreemptInQueue()) {
    CollectQueue(candidates_.queue(), candidates_.request().queue, preemption.within_cluster_queue);
  }
  const QuotaTree& tree = state_.tree();
  if (tree.parent(candidates_.queue().node) == kNoQuotaNode ||
      preemption.reclaim_within_cohort == api::PreemptionPolicy::kNever) {
    return;
  }
  open_nodes_.assign(1, tree.Root(candidates_.queue().node));
  while (!open_nodes_.empty()) {
    const NodeId node = open_nodes_.back();
    open_nodes_.pop_back();
    const ClusterQueueId queue = state_.cluster_queues().At(node);
    if (queue < 0) {
      const std::vector<NodeId>& children = tree.children(node);
      open_nodes_.insert(open_nodes_.end(), children.begin(), children.end());
    } else if (node != candidates_.queue().node && !candidates_.WithinNominal(node) &&
               Usable(state_, queue)) {
      CollectQueue(state_.queue(queue), queue, preemption.reclaim_within_cohort);
    }
  }
}

const Reservation& FairPreemption::TakeNext(QueueCandidates& candidates) {
  const Reservation& taken = candidates.front();
  ++candidates.next;
  if (candidates.list != nullptr) {
    candidates.next = candidates_.Next(*candidates.list, candidates.next, candidates.policy);
  }
  return taken;
}

FairPreemption::QueueCandidates* FairPreemption::CandidatesAt(NodeId leaf) {
  const auto slot = static_cast<std::size_t>(leaf);
  if (slot >= queue_slots_.size() || queue_slots_[slot] < 0) return nullptr;
  QueueCandidates& candidates = queues_[static_cast<std::size_t>(queue_slots_[slot])];
  return candidates.empty() || candidates.pruned ? nullptr : &candidates;
}

bool FairPreemption::OnOwnPath(NodeId cohort) const {
  for (NodeId node = candidates_.queue().node; node != kNoQuotaNode;
       node = state_.tree().parent(node)) {
    if (node == cohort) return true;
  }
  return false;
}

// The child of `cohort` with the highest share, or the queue found below that child; null where the
// walk only found an exhausted child and pruned it: the caller repeats the call.
FairPreemption::QueueCandidates* FairPreemption::NextQueueBelow(NodeId cohort) {
  QueueCandidates* found = nullptr;
  while (cohort != kNoQuotaNode) cohort = BestChild(cohort, found);
  return found;
}

// The cohort to continue with, or kNoQuotaNode: then `found` is the result.
NodeId FairPreemption::BestChild(NodeId cohort, QueueCandidates*& found) {
  QueueCandidates* best_queue = nullptr;
  DominantShare queue_share = DominantShare::Lowest();
  NodeId best_cohort = kNoQuotaNode;
  DominantShare cohort_share = DominantShare::Lowest();
  for (const NodeId child : state_.tree().children(cohort)) {
    const ClusterQueueId queue = state_.cluster_queues().At(child);
    if (queue >= 0) {
      QueueCandidates* candidates = CandidatesAt(child);
      if (candidates == nullptr) continue;
      const DominantShare share = shares_.Of(child);
      if (share.IsZero() && child != candidates_.queue().node) {
        candidates->pruned = true;  // within its quota
        continue;
      }
      const int order = Compare(share, queue_share);
      if (order > 0 || (order == 0 && best_queue != nullptr &&
                        WinsTie(*candidates, *best_queue, candidates_.request().queue))) {
        best_queue = candidates;
        queue_share = share;
      }
      continue;
    }
    if (IsPruned(child)) continue;
    const DominantShare share = shares_.Of(child);
    if (share.IsZero() && !OnOwnPath(child)) {
      Prune(child);
      continue;
    }
    // If shares are equal, the last by name is taken; Kueue takes the last in map order.
    const int order = Compare(share, cohort_share);
    const bool is_later = order == 0 && best_cohort != kNoQuotaNode &&
                          state_.cohorts().NameOf(child) > state_.cohorts().NameOf(best_cohort);
    if (order > 0 || is_later) {
      best_cohort = child;
      cohort_share = share;
    }
  }
  if (best_queue == nullptr && best_cohort == kNoQuotaNode) {
    Prune(cohort);
    return kNoQuotaNode;
  }
  if (Compare(cohort_share, queue_share) >= 0) return best_cohort;
  found = best_queue;
  return kNoQuotaNode;
}

FairPreemption::QueueCandidates* FairPreemption::NextQueue() {
  if (state_.tree().parent(candidates_.queue().node) == kNoQuotaNode)
    return CandidatesAt(candidates_.queue().node);
  const NodeId root = state_.tree().Root(candidates_.queue().node);
  while (!IsPruned(root)) {
    QueueCandidates* next = NextQueueBelow(root);
    if (next != nullptr) return next;
  }
  return nullptr;
}

NodeId FairPreemption::CommonAncestor(NodeId leaf) const {
  NodeId node = state_.tree().parent(leaf);
  while (!OnOwnPath(node)) node = state_.tree().parent(node);
  return node;
}

NodeId FairPreemption::BelowCommonAncestor(NodeId from, NodeId common) const {
  while (state_.tree().parent(from) != common) from = state_.tree().parent(from);
  return from;
}

FairPreemption::Shares FairPreemption::SharesOf(const QueueCandidates& target) {
  const NodeId leaf = state_.queue(target.queue).node;
  const NodeId common = CommonAncestor(leaf);
  return {shares_.Of(BelowCommonAncestor(candidates_.queue().node, common)),
          shares_.Of(BelowCommonAncestor(leaf, common))};
}

DominantShare FairPreemption::ShareWithout(const QueueCandidates& target,
                                           const Reservation& candidate) {
  const NodeId leaf = state_.queue(target.queue).node;
  const QuotaTree::Mark mark = state_.tree().Begin();
  state_.tree().RemoveUsage(leaf, candidate.usage);
  const DominantShare share = shares_.Of(BelowCommonAncestor(leaf, CommonAncestor(leaf)));
  state_.tree().RollBack(mark);
  return share;
}

// Takes the candidate out until the end of the what-if; returns whether the preemptor fits.
bool FairPreemption::Take(const Reservation& candidate, PreemptionReason reason) {
  trial_.Take(candidate, reason);
  // The shares include the preemptor; the test whether it fits must not count it twice.
  const QuotaTree::Mark mark = state_.tree().Begin();
  state_.tree().RemoveUsage(candidates_.queue().node, candidates_.request().usage);
  const bool fits = trial_.Fits(Borrowing::kAllowed);
  state_.tree().RollBack(mark);
  return fits;
}

bool FairPreemption::FirstRule() {
  // A preemptor within its nominal quota may take any borrowed quota.
  const bool entitled = gates_.fair_sharing_preempt_within_nominal &&
                        candidates_.WithinNominal(candidates_.queue().node);
  const FairSharingRule rule = config_.rules.front();
  while (QueueCandidates* target = NextQueue()) {
    if (target->queue == candidates_.request().queue) {
      const Reservation& candidate = TakeNext(*target);
      if (Take(candidate, candidates_.ReasonInQueue(candidate))) return true;
      continue;
    }
    if (entitled) {
      const Reservation& candidate = TakeNext(*target);
      if (Take(candidate, PreemptionReason::kInCohortReclamation)) return true;
      continue;
    }
    const Shares shares = SharesOf(*target);
    while (!target->empty()) {
      const Reservation& candidate = TakeNext(*target);
      const bool allowed = rule == FairSharingRule::kLessThanInitialShare
                               ? Compare(shares.preemptor, shares.target) < 0
                               : Compare(shares.preemptor, ShareWithout(*target, candidate)) <= 0;
      if (!allowed) {
        target->refused.push_back(&candidate);
        continue;
      }
      if (Take(candidate, PreemptionReason::kInCohortFairSharing)) return true;
      break;  // shares have changed: another queue may be next
    }
  }
  return false;
}

void FairPreemption::SpareRefused() {
  if (!candidates_.WantsSpared()) return;
  for (std::size_t i = 0; i < queue_count_; ++i) {
    for (const Reservation* refused : queues_[i].refused) {
      if (!candidates_.WantsSpared()) return;
      candidates_.Spare(*refused, SparedCandidate::Cause::kFairShare);
    }
  }
}

bool FairPreemption::SecondRule() {
  ++round_;  // no cohort is pruned
  for (std::size_t i = 0; i < queue_count_; ++i) {
    queues_[i].list = nullptr;
    queues_[i].left.swap(queues_[i].refused);
    queues_[i].next = 0;
    queues_[i].pruned = false;
  }
  while (QueueCandidates* target = NextQueue()) {
    const Shares shares = SharesOf(*target);
    const Reservation& candidate = TakeNext(*target);
    target->pruned = true;  // the rule cannot hold twice for one queue
    if (Compare(shares.preemptor, shares.target) >= 0) {
      candidates_.Spare(candidate, SparedCandidate::Cause::kFairShare);
      continue;
    }
    if (Take(candidate, PreemptionReason::kInCohortFairSharing)) return true;
  }
  return false;
}

PreemptionTargets FairPreemption::Find() {
  Collect();
  if (queue_count_ == 0) return {};
  state_.tree().AddUsage(candidates_.queue().node, candidates_.request().usage);
  bool fits = FirstRule();
  if (!fits && config_.rules.size() > 1) {
    fits = SecondRule();
  } else if (!fits) {
    SpareRefused();
  }
  if (!fits) return {};
  state_.tree().RemoveUsage(candidates_.queue().node, candidates_.request().usage);
  trial_.PutBackUnneeded(Borrowing::kAllowed);
  return trial_.targets();
}

}  // namespace berth::admission

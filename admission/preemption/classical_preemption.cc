#include "admission/preemption/classical_preemption.h"

#include <algorithm>
#include <utility>

namespace berth::admission {

ClassicalPreemption::Variant ClassicalPreemption::Classify(const Candidate& candidate,
                                                           const Stream& stream) const {
  if (&stream == &own_) return Variant::kWithinQueue;
  if (&stream == advantaged_) return Variant::kHierarchicalReclaim;
  const api::QueuePreemption& preemption = candidates_.queue().spec.preemption;
  if (preemption.borrow_within_cohort == api::PreemptionPolicy::kNever ||
      candidate.priority >= candidates_.request().workload->priority) {
    return Variant::kReclaimWithoutBorrowing;
  }
  const std::optional<std::int32_t>& threshold = preemption.borrow_max_priority_threshold;
  return threshold && candidate.priority > *threshold ? Variant::kReclaimWithoutBorrowing
                                                      : Variant::kReclaimWhileBorrowing;
}

void ClassicalPreemption::CollectQueue(ClusterQueueId queue, NodeId subtree,
                                       api::PreemptionPolicy policy, Stream& stream) {
  Cursor cursor;
  cursor.list = &state_.reservations().Of(queue);
  candidates_.SpareByPolicy(*cursor.list, policy);
  cursor.next = candidates_.Next(*cursor.list, 0, policy);
  if (cursor.done()) return;
  cursor.queue = queue;
  cursor.common_ancestor = subtree;
  cursor.policy = policy;
  stream.open.push_back(cursor);
}

const ClassicalPreemption::Candidate* ClassicalPreemption::CandidateAt(Stream& stream,
                                                                       std::size_t index) {
  const auto later = [](const Cursor& a, const Cursor& b) {
    return TakenBefore(b.front(), a.front());
  };
  if (stream.merged.empty()) std::make_heap(stream.open.begin(), stream.open.end(), later);
  while (stream.merged.size() <= index) {
    if (stream.open.empty()) return nullptr;
    std::pop_heap(stream.open.begin(), stream.open.end(), later);
    Cursor& first = stream.open.back();
    const ListedReservation& held = first.front();
    stream.merged.push_back(
        {held.reservation, first.common_ancestor, first.queue, held.priority, held.evicted});
    first.next = candidates_.Next(*first.list, first.next + 1, first.policy);
    if (first.done()) {
      stream.open.pop_back();
    } else {
      std::push_heap(stream.open.begin(), stream.open.end(), later);
    }
  }
  return &stream.merged[index];
}

void ClassicalPreemption::CollectSubtree(NodeId cohort, NodeId subtree, NodeId skip,
                                         Stream& stream) {
  const auto open_children = [this](NodeId parent) {
    const std::vector<NodeId>& children = state_.tree().children(parent);
    open_nodes_.insert(open_nodes_.end(), children.rbegin(), children.rend());
  };
  open_nodes_.clear();
  open_children(cohort);
  while (!open_nodes_.empty()) {
    const NodeId node = open_nodes_.back();
    open_nodes_.pop_back();
    // A node within its quota has nothing to give back, nor has any node below.
    if (node == skip || candidates_.WithinNominal(node)) continue;
    const ClusterQueueId queue = state_.cluster_queues().At(node);
    if (queue < 0) {
      open_children(node);
    } else if (Usable(state_, queue)) {
      CollectQueue(queue, subtree, candidates_.queue().spec.preemption.reclaim_within_cohort,
                   stream);
    }
  }
}

ClassicalPreemption::Stream* ClassicalPreemption::StreamOfCohort() {
  const QuotaTree& tree = state_.tree();
  const NodeId cohort = tree.parent(candidates_.queue().node);
  if (candidates_.queue().spec.preemption.reclaim_within_cohort != api::PreemptionPolicy::kAny ||
      candidates_.by_turn() || candidates_.depends_on_time() ||
      tree.parent(cohort) != kNoQuotaNode ||
      state_.reservations().foreign_owner_count() > 0) {  // each head notes spared ones
    return nullptr;
  }
  const auto slot = static_cast<std::size_t>(cohort);
  if (slot >= cohort_streams_.size()) cohort_streams_.resize(slot + 1);
  SharedStream& shared = cohort_streams_[slot];
  if (shared.usage_version != tree.version() || shared.exclusions != candidates_.exclusions() ||
      !(shared.contested == candidates_.request().contested)) {
    shared.usage_version = tree.version();
    shared.exclusions = candidates_.exclusions();
    shared.contested = candidates_.request().contested;
    shared.stream.Clear();
    CollectSubtree(cohort, cohort, kNoQuotaNode, shared.stream);
  }
  return &shared.stream;
}

bool ClassicalPreemption::HasOthers(const Stream& stream) const {
  return std::any_of(stream.merged.begin(), stream.merged.end(),
                     [this](const Candidate& candidate) { return !IsOwn(candidate); }) ||
         std::any_of(stream.open.begin(), stream.open.end(), [this](const Cursor& cursor) {
           return cursor.queue != candidates_.request().queue;
         });
}

void ClassicalPreemption::CollectOthers() {
  const QuotaTree& tree = state_.tree();
  if (tree.parent(candidates_.queue().node) == kNoQuotaNode ||
      candidates_.queue().spec.preemption.reclaim_within_cohort == api::PreemptionPolicy::kNever) {
    return;
  }
  // The preemptor has an advantage over queues outside the smallest subtree that has quota for it.
  Usage remaining = candidates_.request().usage;
  const auto fits_quota = [&](NodeId node) {
    bool fits = true;
    for (FlavorResourceAmount& item : remaining) {
      const QuotaCell& amounts = tree.AmountsOf(node, item.flavor_resource);
      fits = fits && !amounts.BorrowingWith(item.amount);
      const Amount local = amounts.LocalAvailable();
      item.amount = std::max<Amount>(0, api::SubtractAmounts(item.amount, local));
    }
    return fits;
  };
  bool advantage = fits_quota(candidates_.queue().node);
  if (Stream* shared = StreamOfCohort()) {
    (advantage ? advantaged_ : others_) = shared;
    return;
  }
  NodeId before = candidates_.queue().node;
  for (NodeId node = tree.parent(candidates_.queue().node); node != kNoQuotaNode;
       node = tree.parent(node)) {
    CollectSubtree(node, node, before, advantage ? hierarchical_ : by_priority_);
    advantage = fits_quota(node) || advantage;
    before = node;
  }
}

void ClassicalPreemption::Collect(Order order) {
  own_.Clear();
  hierarchical_.Clear();
  by_priority_.Clear();
  advantaged_ = &hierarchical_;
  others_ = &by_priority_;
  const api::PreemptionPolicy within = candidates_.queue().spec.preemption.within_cluster_queue;
  if (candidates_.MayPreemptInQueue()) {
    CollectQueue(candidates_.request().queue, kNoQuotaNode, within, own_);
  }
  CollectOthers();
  const bool by_work = order == Order::kLeastWorkFirst;
  if (!candidates_.by_turn() && !by_work) return;
  const auto reservation_of = [](const Candidate& c) -> const Reservation& {
    return *c.reservation;
  };
  for (Stream* stream : {&hierarchical_, &by_priority_, &own_}) {
    while (!stream->open.empty()) CandidateAt(*stream, stream->merged.size());
    candidates_.OrderByTurn(stream->merged, reservation_of);
    if (by_work) candidates_.OrderByWork(stream->merged, reservation_of);
  }
}

std::optional<SparedCandidate::Cause> ClassicalPreemption::WhyInvalid(const Candidate& candidate,
                                                                      Variant variant,
                                                                      Borrowing borrowing) const {
  if (variant == Variant::kWithinQueue) return std::nullopt;
  if (borrowing == Borrowing::kAllowed && variant == Variant::kReclaimWithoutBorrowing) {
    return SparedCandidate::Cause::kNeedsNoBorrowing;
  }
  NodeId node = state_.queue(candidate.queue).node;
  for (; node != candidate.common_ancestor; node = state_.tree().parent(node)) {
    if (candidates_.WithinNominal(node)) return SparedCandidate::Cause::kQueueWithinNominal;
  }
  return std::nullopt;
}

// Takes one candidate if the rules allow it; returns whether the workload fits now.
bool ClassicalPreemption::TryCandidate(const Candidate& candidate, Variant variant,
                                       Borrowing borrowing) {
  if (const auto cause = WhyInvalid(candidate, variant, borrowing)) {
    candidates_.Spare(*candidate.reservation, *cause);
    return false;
  }
  PreemptionReason reason = PreemptionReason::kInCohortReclamation;
  if (variant == Variant::kWithinQueue) reason = candidates_.ReasonInQueue(*candidate.reservation);
  if (variant == Variant::kReclaimWhileBorrowing) {
    reason = PreemptionReason::kInCohortReclaimWhileBorrowing;
  }
  trial_.Take(*candidate.reservation, reason);
  return trial_.Fits(borrowing);
}

bool ClassicalPreemption::TryInOrder(Borrowing borrowing) {
  struct Source {
    Stream* stream;
    std::size_t next;
  };
  Source sources[] = {{advantaged_, 0}, {others_, 0}, {&own_, 0}};
  const bool never_borrows =
      candidates_.queue().spec.preemption.borrow_within_cohort == api::PreemptionPolicy::kNever;
  for (const bool evicted : {true, false}) {
    for (Source& source : sources) {
      // If no candidate may be taken, it is enough to name the first.
      const bool all_invalid =
          source.stream == others_ && never_borrows && borrowing == Borrowing::kAllowed && !evicted;
      while (const Candidate* candidate = CandidateAt(*source.stream, source.next)) {
        if (source.stream != &own_ && IsOwn(*candidate)) {  // a cohort's stream has them
          ++source.next;
          continue;
        }
        if (candidate->evicted != evicted) break;
        if (all_invalid && !candidates_.WantsSpared()) break;
        ++source.next;
        const Variant variant = Classify(*candidate, *source.stream);
        if (TryCandidate(*candidate, variant, borrowing)) return true;
      }
    }
  }
  return false;
}

bool ClassicalPreemption::CanStayWithinNominal() const {
  const PreemptionRequest& request = candidates_.request();
  const api::PreemptionPolicy within = candidates_.queue().spec.preemption.within_cluster_queue;
  const std::vector<ListedReservation>& own = state_.reservations().Of(request.queue);
  return std::all_of(request.usage.begin(), request.usage.end(), [&](const auto& item) {
    const QuotaCell& cell = state_.tree().AmountsOf(candidates_.queue().node, item.flavor_resource);
    Amount excess = api::SubtractAmounts(api::AddAmounts(cell.usage, item.amount), cell.subtree);
    for (std::size_t i = 0; excess > 0; ++i) {
      i = candidates_.Next(own, i, within);
      if (i == own.size()) break;
      excess =
          api::SubtractAmounts(excess, AmountOf(own[i].reservation->usage, item.flavor_resource));
    }
    return excess <= 0;
  });
}

std::optional<PreemptionTargets> ClassicalPreemption::Attempt(Borrowing borrowing) {
  if (borrowing == Borrowing::kForbidden && !CanStayWithinNominal()) return std::nullopt;
  const ClusterState::WhatIf what_if = state_.Begin();
  trial_.Clear();
  const bool fits = TryInOrder(borrowing);
  if (fits) trial_.PutBackUnneeded(borrowing);
  state_.RollBack(what_if);
  if (!fits) return std::nullopt;
  return trial_.targets();
}

double ClassicalPreemption::WorkLost(const PreemptionTargets& targets) const {
  double lost = 0;
  for (const PreemptionTarget& target : targets) lost += candidates_.WorkLost(*target.reservation);
  return lost;
}

// The newest victims are often many small ones, the cheapest first one may be followed by a dear
// one: neither order alone finds the set that loses less.
PreemptionTargets ClassicalPreemption::Find() {
  PreemptionTargets newest = FindInOrder(Order::kNewestFirst);
  if (newest.empty() || !candidates_.by_work()) return newest;
  PreemptionTargets cheapest = FindInOrder(Order::kLeastWorkFirst);
  const bool cheaper = !cheapest.empty() && WorkLost(cheapest) < WorkLost(newest);
  const PreemptionTargets& found = cheaper ? cheapest : newest;
  for (const PreemptionTarget& target : found) candidates_.Unspare(*target.reservation);
  return found;
}

PreemptionTargets ClassicalPreemption::FindInOrder(Order order) {
  Collect(order);
  const bool none_elsewhere = !HasOthers(*advantaged_) && !HasOthers(*others_);
  if (none_elsewhere && own_.open.empty() && own_.merged.empty()) return {};
  const bool borrowing_forbidden =
      candidates_.queue().spec.preemption.borrow_within_cohort == api::PreemptionPolicy::kNever;
  const bool under_nominal = std::all_of(
      candidates_.request().contested.begin(), candidates_.request().contested.end(),
      [this](FlavorResourceId fr) {
        const QuotaCell& amounts = state_.tree().AmountsOf(candidates_.queue().node, fr);
        return amounts.usage < amounts.nominal;
      });
  SmallVector<Borrowing, 2> attempts = {Borrowing::kAllowed, Borrowing::kForbidden};
  if (none_elsewhere || (borrowing_forbidden && !under_nominal)) {
    attempts = {Borrowing::kAllowed};
  } else if (borrowing_forbidden && !HasOthers(*advantaged_)) {
    attempts = {Borrowing::kForbidden, Borrowing::kAllowed};
  }
  for (const Borrowing borrowing : attempts) {
    if (auto found = Attempt(borrowing)) return *std::move(found);
  }
  return {};
}

}  // namespace berth::admission

#include "admission/preemption.h"

#include <algorithm>
#include <utility>

namespace berth::admission {

void PreemptionSearch::Exclude(const Reservation& reservation) {
  const auto slot = static_cast<std::size_t>(reservation.workload);
  if (slot >= is_excluded_.size()) is_excluded_.resize(slot + 1, 0);
  is_excluded_[slot] = 1;
  excluded_.push_back(&reservation);
  ++exclusions_;
}

void PreemptionSearch::ExcludeFirst(std::size_t count) {
  while (excluded_.size() > count) {
    is_excluded_[static_cast<std::size_t>(excluded_.back()->workload)] = 0;
    excluded_.pop_back();
  }
  ++exclusions_;
}

bool PreemptionSearch::Contests(const Held& held) const {
  return std::any_of(request_->contested.begin(), request_->contested.end(),
                     [&held](FlavorResourceId fr) {
                       return held.MayUse(fr) && (fr < 64 || held.reservation->Uses(fr));
                     });
}

bool PreemptionSearch::PolicyAllows(const Held& candidate, api::PreemptionPolicy policy) const {
  const bool lower = candidate.priority < request_->workload->priority;
  switch (policy) {
    case api::PreemptionPolicy::kNever: return false;
    case api::PreemptionPolicy::kLowerPriority: return lower;
    case api::PreemptionPolicy::kLowerOrNewerEqualPriority:
      return lower || (candidate.priority == request_->workload->priority &&
                       request_->workload->queued_at < candidate.reservation->queued_at);
    case api::PreemptionPolicy::kAny: return true;
  }
  return false;
}

std::size_t PreemptionSearch::FindCandidate(const std::vector<Held>& list, std::size_t from,
                                            api::PreemptionPolicy policy) const {
  if (policy == api::PreemptionPolicy::kNever) return list.size();
  while (from < list.size()) {
    const Held& held = list[from];
    const std::int64_t above = held.priority - request_->workload->priority;
    if (policy != api::PreemptionPolicy::kAny &&
        (above > 0 || (above == 0 && policy == api::PreemptionPolicy::kLowerPriority))) {
      // Priorities rise, once among the evicted ones and once among the others.
      if (!held.evicted) return list.size();
      while (from < list.size() && list[from].evicted) ++from;
      continue;
    }
    if (!held.foreign_owner && PolicyAllows(held, policy) && Contests(held) &&
        !IsExcluded(*held.reservation)) {
      return from;
    }
    ++from;
  }
  return from;
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

void PreemptionSearch::SpareByPolicy(const std::vector<Held>& list, api::PreemptionPolicy policy) {
  if (spared_ == nullptr || policy == api::PreemptionPolicy::kAny) return;
  for (const Held& held : list) {
    if (spared_->size() >= kMaxSparedByPolicy) return;
    const bool allowed = PolicyAllows(held, policy);
    if (allowed && !held.foreign_owner) continue;
    if (!Contests(held) || IsExcluded(*held.reservation)) continue;
    spared_->push_back({held.reservation->workload, allowed ? SparedCandidate::Cause::kForeignOwner
                                                            : SparedCandidate::Cause::kPolicy});
  }
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

PreemptionTargets PreemptionSearch::Keep(const PreemptionRequest& request,
                                         const SmallVector<WorkloadId, 2>& victims) {
  request_ = &request;
  queue_ = &state_.queue(request.queue);
  spared_ = nullptr;
  targets_.clear();
  const ClusterState::WhatIf what_if = state_.Begin();
  for (const WorkloadId victim : victims) {
    const Reservation* held = state_.reservation(victim);
    if (held == nullptr || !held->evicted || IsExcluded(*held)) continue;
    if (!state_.HasQueue(held->cluster_queue)) continue;  // its quota went with its queue
    Take(*held);
    targets_.push_back({held, PreemptionReason::kInClusterQueue});
  }
  const bool fits = !targets_.empty() && WorkloadFits(Borrowing::kAllowed);
  if (fits) PutBackUnneeded(targets_, Borrowing::kAllowed);
  state_.RollBack(what_if);
  if (!fits) return {};
  return targets_;
}

PreemptionSearch::Variant PreemptionSearch::Classify(const Candidate& candidate,
                                                     const Stream& stream) const {
  if (&stream == &own_) return Variant::kWithinQueue;
  if (&stream == advantaged_) return Variant::kHierarchicalReclaim;
  const api::QueuePreemption& preemption = queue_->spec.preemption;
  if (preemption.borrow_within_cohort == api::PreemptionPolicy::kNever ||
      candidate.priority >= request_->workload->priority) {
    return Variant::kReclaimWithoutBorrowing;
  }
  const std::optional<std::int32_t>& threshold = preemption.borrow_max_priority_threshold;
  return threshold && candidate.priority > *threshold ? Variant::kReclaimWithoutBorrowing
                                                      : Variant::kReclaimWhileBorrowing;
}

void PreemptionSearch::CollectQueue(ClusterQueueId queue, NodeId subtree,
                                    api::PreemptionPolicy policy, Stream& stream) {
  Cursor cursor;
  cursor.list = &state_.queue(queue).reservations;
  SpareByPolicy(*cursor.list, policy);
  cursor.next = FindCandidate(*cursor.list, 0, policy);
  if (cursor.done()) return;
  cursor.queue = queue;
  cursor.common_ancestor = subtree;
  cursor.policy = policy;
  stream.open.push_back(cursor);
}

const PreemptionSearch::Candidate* PreemptionSearch::CandidateAt(Stream& stream,
                                                                 std::size_t index) {
  const auto later = [](const Cursor& a, const Cursor& b) {
    return TakenBefore(b.front(), a.front());
  };
  if (stream.merged.empty()) std::make_heap(stream.open.begin(), stream.open.end(), later);
  while (stream.merged.size() <= index) {
    if (stream.open.empty()) return nullptr;
    std::pop_heap(stream.open.begin(), stream.open.end(), later);
    Cursor& first = stream.open.back();
    const Held& held = first.front();
    stream.merged.push_back(
        {held.reservation, first.common_ancestor, first.queue, held.priority, held.evicted});
    first.next = FindCandidate(*first.list, first.next + 1, first.policy);
    if (first.done()) {
      stream.open.pop_back();
    } else {
      std::push_heap(stream.open.begin(), stream.open.end(), later);
    }
  }
  return &stream.merged[index];
}

void PreemptionSearch::CollectSubtree(NodeId cohort, NodeId subtree, NodeId skip, Stream& stream) {
  for (const NodeId child : state_.tree().children(cohort)) {
    if (child == skip) continue;
    // Who keeps within its quota has nothing to give back, nor has anybody below.
    if (WithinNominal(child)) continue;
    const ClusterQueueId queue = state_.QueueAt(child);
    if (queue < 0) {
      CollectSubtree(child, subtree, skip, stream);
    } else if (state_.Usable(queue)) {
      CollectQueue(queue, subtree, queue_->spec.preemption.reclaim_within_cohort, stream);
    }
  }
}

PreemptionSearch::Stream* PreemptionSearch::StreamOfCohort() {
  const QuotaTree& tree = state_.tree();
  const NodeId cohort = tree.parent(queue_->node);
  if (queue_->spec.preemption.reclaim_within_cohort != api::PreemptionPolicy::kAny ||
      ledger_ != nullptr || tree.parent(cohort) != kNoQuotaNode) {
    return nullptr;
  }
  const auto slot = static_cast<std::size_t>(cohort);
  if (slot >= cohort_streams_.size()) cohort_streams_.resize(slot + 1);
  SharedStream& shared = cohort_streams_[slot];
  if (shared.usage_version != tree.version() || shared.exclusions != exclusions_ ||
      !(shared.contested == request_->contested)) {
    shared.usage_version = tree.version();
    shared.exclusions = exclusions_;
    shared.contested = request_->contested;
    shared.stream.Clear();
    CollectSubtree(cohort, cohort, kNoQuotaNode, shared.stream);
  }
  return &shared.stream;
}

bool PreemptionSearch::HasOthers(const Stream& stream) const {
  return std::any_of(stream.merged.begin(), stream.merged.end(),
                     [this](const Candidate& candidate) { return !IsOwn(candidate); }) ||
         std::any_of(stream.open.begin(), stream.open.end(),
                     [this](const Cursor& cursor) { return cursor.queue != request_->queue; });
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
  if (Stream* shared = StreamOfCohort()) {
    (advantage ? advantaged_ : others_) = shared;
    return;
  }
  NodeId before = queue_->node;
  for (NodeId node = tree.parent(queue_->node); node != kNoQuotaNode; node = tree.parent(node)) {
    CollectSubtree(node, node, before, advantage ? hierarchical_ : by_priority_);
    advantage = fits_quota(node) || advantage;
    before = node;
  }
}

double PreemptionSearch::LocalQueueUsage(const Reservation& candidate) const {
  const api::Workload& object = *candidate.object;
  return ledger_->UsageOf({object.meta.namespace_name, object.spec.queue_name});
}

void PreemptionSearch::CollectClassical() {
  own_.Clear();
  hierarchical_.Clear();
  by_priority_.Clear();
  advantaged_ = &hierarchical_;
  others_ = &by_priority_;
  const api::PreemptionPolicy within = queue_->spec.preemption.within_cluster_queue;
  if (within != api::PreemptionPolicy::kNever) {
    CollectQueue(request_->queue, kNoQuotaNode, within, own_);
  }
  CollectOthers();
  if (ledger_ == nullptr) return;
  for (Stream* stream : {&hierarchical_, &by_priority_, &own_}) {
    while (!stream->open.empty()) CandidateAt(*stream, stream->merged.size());
    OrderByUsage(stream->merged,
                 [](const Candidate& c) -> const Reservation& { return *c.reservation; });
  }
}

std::optional<SparedCandidate::Cause> PreemptionSearch::WhyInvalid(const Candidate& candidate,
                                                                   Variant variant,
                                                                   Borrowing borrowing) const {
  if (variant == Variant::kWithinQueue) return std::nullopt;
  if (borrowing == Borrowing::kAllowed && variant == Variant::kReclaimWithoutBorrowing) {
    return SparedCandidate::Cause::kNeedsNoBorrowing;
  }
  NodeId node = state_.queue(candidate.queue).node;
  for (; node != candidate.common_ancestor; node = state_.tree().parent(node)) {
    if (WithinNominal(node)) return SparedCandidate::Cause::kQueueWithinNominal;
  }
  return std::nullopt;
}

// Takes one candidate where the rules allow it; whether the workload fits now.
bool PreemptionSearch::TryCandidate(const Candidate& candidate, Variant variant,
                                    Borrowing borrowing) {
  if (const auto cause = WhyInvalid(candidate, variant, borrowing)) {
    Spare(*candidate.reservation, *cause);
    return false;
  }
  Take(*candidate.reservation);
  PreemptionReason reason = PreemptionReason::kInCohortReclamation;
  if (variant == Variant::kWithinQueue) reason = PreemptionReason::kInClusterQueue;
  if (variant == Variant::kReclaimWhileBorrowing) {
    reason = PreemptionReason::kInCohortReclaimWhileBorrowing;
  }
  targets_.push_back({candidate.reservation, reason});
  return WorkloadFits(borrowing);
}

bool PreemptionSearch::TryInOrder(Borrowing borrowing) {
  struct Source {
    Stream* stream;
    std::size_t next;
  };
  Source sources[] = {{advantaged_, 0}, {others_, 0}, {&own_, 0}};
  const bool never_borrows =
      queue_->spec.preemption.borrow_within_cohort == api::PreemptionPolicy::kNever;
  for (const bool evicted : {true, false}) {
    for (Source& source : sources) {
      // Where none of them may be taken, it is enough to name the first.
      const bool all_invalid =
          source.stream == others_ && never_borrows && borrowing == Borrowing::kAllowed && !evicted;
      while (const Candidate* candidate = CandidateAt(*source.stream, source.next)) {
        if (source.stream != &own_ && IsOwn(*candidate)) {  // in the stream of a cohort
          ++source.next;
          continue;
        }
        if (candidate->evicted != evicted) break;
        if (all_invalid && (spared_ == nullptr || spared_->size() >= kMaxSpared)) break;
        ++source.next;
        const Variant variant = Classify(*candidate, *source.stream);
        if (TryCandidate(*candidate, variant, borrowing)) return true;
      }
    }
  }
  return false;
}

std::optional<PreemptionTargets> PreemptionSearch::Attempt(Borrowing borrowing) {
  const ClusterState::WhatIf what_if = state_.Begin();
  targets_.clear();
  const bool fits = TryInOrder(borrowing);
  if (fits) PutBackUnneeded(targets_, borrowing);
  state_.RollBack(what_if);
  if (!fits) return std::nullopt;
  return targets_;
}

PreemptionTargets PreemptionSearch::FindClassical() {
  CollectClassical();
  const bool none_elsewhere = !HasOthers(*advantaged_) && !HasOthers(*others_);
  if (none_elsewhere && own_.open.empty() && own_.merged.empty()) return {};
  const bool borrowing_forbidden =
      queue_->spec.preemption.borrow_within_cohort == api::PreemptionPolicy::kNever;
  const bool under_nominal = std::all_of(
      request_->contested.begin(), request_->contested.end(), [this](FlavorResourceId fr) {
        return state_.tree().UsageOf(queue_->node, fr) < state_.tree().Nominal(queue_->node, fr);
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

PreemptionOracle::Answer SearchOracle::Simulate(FlavorResourceId flavor_resource, Amount amount) {
  Memory& memory = last_.emplace(Memory{});
  memory.request = {&workload_, queue_, {{flavor_resource, amount}}, {flavor_resource}};
  memory.version = state_.tree().version();
  memory.targets = search_.Find(memory.request, &memory.spared);
  QuotaTree& tree = state_.tree();
  const NodeId leaf = state_.queue(queue_).node;
  Answer answer;
  if (memory.targets.empty()) {
    answer.borrow_height = tree.LowestSubtreeThatFits(leaf, flavor_resource, amount).height;
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

#include "admission/preemption/preemption_candidates.h"

#include <algorithm>

namespace berth::admission {

void PreemptionCandidates::Exclude(const Reservation& reservation) {
  const auto slot = static_cast<std::size_t>(reservation.workload);
  if (slot >= is_excluded_.size()) is_excluded_.resize(slot + 1, 0);
  is_excluded_[slot] = 1;
  excluded_.push_back(&reservation);
  ++exclusions_;
}

void PreemptionCandidates::ExcludeFirst(std::size_t count) {
  while (excluded_.size() > count) {
    is_excluded_[static_cast<std::size_t>(excluded_.back()->workload)] = 0;
    excluded_.pop_back();
  }
  ++exclusions_;
}

bool PreemptionCandidates::Contests(const ListedReservation& held) const {
  return std::any_of(request_->contested.begin(), request_->contested.end(),
                     [&held](FlavorResourceId fr) {
                       return held.MayUse(fr) && (fr < 64 || held.reservation->Uses(fr));
                     });
}

bool PreemptionCandidates::PolicyAllows(std::int64_t priority, const Reservation& candidate,
                                        api::PreemptionPolicy policy) const {
  const bool lower = priority < request_->workload->priority;
  switch (policy) {
    case api::PreemptionPolicy::kNever: return false;
    case api::PreemptionPolicy::kLowerPriority: return lower;
    case api::PreemptionPolicy::kLowerOrNewerEqualPriority:
      return lower || (priority == request_->workload->priority &&
                       request_->workload->queued_at < candidate.queued_at);
    case api::PreemptionPolicy::kAny: return true;
  }
  return false;
}

PreemptionReason PreemptionCandidates::ReasonInQueue(const Reservation& candidate) const {
  return PolicyAllows(candidate.priority, candidate, queue_->spec.preemption.within_cluster_queue)
             ? PreemptionReason::kInClusterQueue
             : PreemptionReason::kTimeSliceExpired;
}

std::size_t PreemptionCandidates::Next(const std::vector<ListedReservation>& list, std::size_t from,
                                       api::PreemptionPolicy policy) const {
  if (policy == api::PreemptionPolicy::kNever && !MayTakeTurn()) return list.size();
  while (from < list.size()) {
    const ListedReservation& held = list[from];
    const std::int64_t above = held.priority - request_->workload->priority;
    if (policy != api::PreemptionPolicy::kAny &&
        (above > 0 ||
         (above == 0 && policy == api::PreemptionPolicy::kLowerPriority && !MayTakeTurn()))) {
      // Priorities rise, first among the evicted reservations, then among the others.
      if (!held.evicted) return list.size();
      while (from < list.size() && list[from].evicted) ++from;
      continue;
    }
    if (!held.foreign_owner && Contests(held) && !IsExcluded(*held.reservation) &&
        MayPreempt(held, policy) && !HasJustBegun(*held.reservation)) {
      return from;
    }
    ++from;
  }
  return from;
}

bool PreemptionCandidates::HasJustBegun(const Reservation& candidate) const {
  return rules_ != nullptr && rules_->HasJustBegun(candidate, request_->queue);
}

bool PreemptionCandidates::WithinNominal(NodeId node) const {
  return std::none_of(
      request_->contested.begin(), request_->contested.end(),
      [this, node](FlavorResourceId fr) { return state_.tree().AmountsOf(node, fr).Borrowing(); });
}

void PreemptionCandidates::Spare(const Reservation& candidate, SparedCandidate::Cause cause) {
  if (!WantsSpared()) return;
  spared_->push_back({candidate.workload, cause});
}

void PreemptionCandidates::Unspare(const Reservation& candidate) {
  if (spared_ == nullptr) return;
  erase_if(*spared_,
           [&](const SparedCandidate& spared) { return spared.workload == candidate.workload; });
}

void PreemptionCandidates::SpareByPolicy(const std::vector<ListedReservation>& list,
                                         api::PreemptionPolicy policy) {
  if (spared_ == nullptr) return;
  if (policy == api::PreemptionPolicy::kAny && state_.reservations().foreign_owner_count() == 0 &&
      !depends_on_time()) {
    return;
  }
  for (const ListedReservation& held : list) {
    if (spared_->size() >= kMaxSparedByPolicy) return;
    const bool allowed = MayPreempt(held, policy);
    const bool just_begun = allowed && HasJustBegun(*held.reservation);
    if (allowed && !held.foreign_owner && !just_begun) continue;
    if (!Contests(held) || IsExcluded(*held.reservation)) continue;
    SparedCandidate::Cause cause = TakesTurns(*held.reservation)
                                       ? SparedCandidate::Cause::kWithinTimeSlice
                                       : SparedCandidate::Cause::kPolicy;
    if (allowed) {
      cause = held.foreign_owner ? SparedCandidate::Cause::kForeignOwner
                                 : SparedCandidate::Cause::kHasJustBegun;
    }
    spared_->push_back({held.reservation->workload, cause});
  }
}

double PreemptionCandidates::LocalQueueUsage(const Reservation& candidate) const {
  const api::Workload& object = *candidate.object;
  return ledger_->UsageOf({object.meta.namespace_name, object.spec.queue_name});
}

}  // namespace berth::admission

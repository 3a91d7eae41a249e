// admission/preemption/preemption_candidates.h — the reservations that may be preempted for one
// workload, and the order in which those of one ClusterQueue are taken.
//
// A candidate uses a contested flavor-resource, the queue's policy lets the workload preempt it, a
// controller that Berth manages stops its job, it has run as long as its queue demands, and it is
// not excluded. Candidates are read from the queue's list of reservations, which is in their order:
// evicted first, then lower priority, later reservation, UID. Admission fair sharing puts those of
// the LocalQueues with most usage first.
//
// Threads: one. Errors: none.
// Source: Kueue KEP-83, KEP-4136, pkg/scheduler/preemption.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/decision.h"
#include "admission/policies/victim_rules.h"
#include "admission/quota/usage_ledger.h"

namespace berth::admission {

struct PreemptionRequest {
  const queue::WorkloadInfo* workload = nullptr;
  ClusterQueueId queue = -1;
  Usage usage;                                 // the usage that has to fit
  SmallVector<FlavorResourceId, 2> contested;  // the part of `usage` that needs preemption
  std::vector<PlacementRequest> placements;    // pods that need room on nodes as well
  friend bool operator==(const PreemptionRequest&, const PreemptionRequest&) = default;
};

class PreemptionCandidates {
 public:
  explicit PreemptionCandidates(const ClusterState& state) : state_(state) {}

  // Orders the candidates of one ClusterQueue by usage; `ledger` must outlive this object.
  void UseLedger(const UsageLedger* ledger) { ledger_ = ledger; }
  // Whether candidates are ordered by usage, or by the ends of their time slices.
  bool by_turn() const { return ledger_ != nullptr || MayTakeTurn(); }

  // Policies of queues; must outlive this object.
  void UseRules(VictimRules* rules) { rules_ = rules; }
  // Whether the order of candidates, or which of them there are, changes with time.
  bool depends_on_time() const { return rules_ != nullptr && rules_->any(); }
  bool by_work() const { return rules_ != nullptr && rules_->ChoosesLeastWork(request_->queue); }
  // VictimRules::WorkLost for the present request.
  double WorkLost(const Reservation& candidate) const {
    return rules_->WorkLost(
        candidate, {*request_->workload, request_->queue, request_->usage, request_->contested});
  }

  // Excludes a reservation, because the caller has taken it out of the state already.
  void Exclude(const Reservation& reservation);
  // Drops all exclusions but the first `count`.
  void ExcludeFirst(std::size_t count);
  std::size_t excluded_count() const { return excluded_.size(); }
  bool IsExcluded(const Reservation& reservation) const {
    const auto slot = static_cast<std::size_t>(reservation.workload);
    return slot < is_excluded_.size() && is_excluded_[slot] != 0;
  }
  // Version of the exclusions: grows with each change.
  std::uint64_t exclusions() const { return exclusions_; }

  // Begins with `request`, which must live until the next Begin. Candidates that are examined and
  // not taken are appended to `spared` if that is not null.
  void Begin(const PreemptionRequest& request, SparedCandidates* spared) {
    request_ = &request;
    queue_ = &state_.queue(request.queue);
    spared_ = spared;
    has_time_slices_ = rules_ != nullptr && rules_->HasTimeSlices(request.queue);
    if (has_time_slices_) rules_->BeginSearch(*request.workload, request.queue);
  }
  // Ends the search that Begin began.
  void End(bool found) {
    if (has_time_slices_) rules_->EndSearch(found);
  }
  const PreemptionRequest& request() const { return *request_; }
  const QueueState& queue() const { return *queue_; }  // the queue of the request's workload

  // Whether workloads of the request's own queue may be candidates.
  bool MayPreemptInQueue() const {
    return has_time_slices_ ||
           queue_->spec.preemption.within_cluster_queue != api::PreemptionPolicy::kNever;
  }
  // Why a candidate of the request's own queue is preempted.
  PreemptionReason ReasonInQueue(const Reservation& candidate) const;

  // Index of the first candidate at or behind `from` in a queue's list; list.size() if none.
  std::size_t Next(const std::vector<ListedReservation>& list, std::size_t from,
                   api::PreemptionPolicy policy) const;
  // Sorts `list`, which has the order of Next, by the ledger's usage, else the equals of the
  // request's own queue by the ends of their time slices.
  template <typename T, typename ReservationOf>
  void OrderByTurn(std::vector<T>& list, ReservationOf reservation_of) const;

  // Sorts `list`, which has the order of Next, by WorkLost within each priority.
  template <typename T, typename ReservationOf>
  void OrderByWork(std::vector<T>& list, ReservationOf reservation_of) const;

  // Whether the node uses at most its subtree quota of each contested flavor-resource.
  bool WithinNominal(NodeId node) const;

  bool WantsSpared() const { return spared_ != nullptr && spared_->size() < kMaxSpared; }
  void Spare(const Reservation& candidate, SparedCandidate::Cause cause);
  // The candidate is taken after all.
  void Unspare(const Reservation& candidate);
  // Records as spared the reservations that the policy alone excludes.
  void SpareByPolicy(const std::vector<ListedReservation>& list, api::PreemptionPolicy policy);

 private:
  // Whether the workload may take the turn of an equal of its own queue.
  bool MayTakeTurn() const { return has_time_slices_ && rules_->MayTakeTurn(); }
  template <typename T, typename ReservationOf>
  void OrderBySlices(std::vector<T>& list, ReservationOf reservation_of) const;
  bool Contests(const ListedReservation& held) const;
  bool HasJustBegun(const Reservation& candidate) const;
  // `priority` is the candidate's: where the list of reservations has it, the candidate is not
  // read.
  bool PolicyAllows(std::int64_t priority, const Reservation& candidate,
                    api::PreemptionPolicy policy) const;
  // Whether the workload and the candidate are equals in a queue with time slices.
  bool TakesTurns(const Reservation& candidate) const {
    return has_time_slices_ && candidate.cluster_queue == request_->queue &&
           candidate.priority == request_->workload->priority;
  }
  bool MayPreempt(const ListedReservation& candidate, api::PreemptionPolicy policy) const {
    return PolicyAllows(candidate.priority, *candidate.reservation, policy) ||
           (MayTakeTurn() && TakesTurns(*candidate.reservation) &&
            rules_->HasUsedItsSlice(*candidate.reservation));
  }
  double LocalQueueUsage(const Reservation& candidate) const;

  const ClusterState& state_;
  const UsageLedger* ledger_ = nullptr;  // null: no order by usage
  VictimRules* rules_ = nullptr;         // null: no policies
  std::vector<const Reservation*> excluded_;
  std::vector<std::uint8_t> is_excluded_;  // by WorkloadId
  std::uint64_t exclusions_ = 0;
  const PreemptionRequest* request_ = nullptr;  // not null from Begin to the end of a search
  const QueueState* queue_ = nullptr;           // not null from Begin to the end of a search
  SparedCandidates* spared_ = nullptr;
  bool has_time_slices_ = false;  // the request's queue has them
};

template <typename T, typename ReservationOf>
void PreemptionCandidates::OrderByTurn(std::vector<T>& list, ReservationOf reservation_of) const {
  if (ledger_ == nullptr) return OrderBySlices(list, reservation_of);
  std::map<ClusterQueueId, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const ClusterQueueId queue = reservation_of(list[i]).cluster_queue;
    if (state_.queue(queue).spec.usage_based_admission_fair_sharing) places[queue].push_back(i);
  }
  for (const auto& [queue, slots] : places) {
    std::vector<std::pair<double, T>> members;
    for (const std::size_t slot : slots) {
      members.emplace_back(LocalQueueUsage(reservation_of(list[slot])), list[slot]);
    }
    std::stable_sort(members.begin(), members.end(), [&](const auto& a, const auto& b) {
      const bool evicted = reservation_of(a.second).evicted;
      if (evicted != reservation_of(b.second).evicted) return evicted;
      return a.first > b.first;
    });
    for (std::size_t i = 0; i < slots.size(); ++i) list[slots[i]] = members[i].second;
  }
}

template <typename T, typename ReservationOf>
void PreemptionCandidates::OrderBySlices(std::vector<T>& list, ReservationOf reservation_of) const {
  if (!MayTakeTurn()) return;
  std::vector<std::size_t> slots;
  std::vector<std::pair<WallTime, T>> members;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Reservation& each = reservation_of(list[i]);
    if (each.evicted || !TakesTurns(each)) continue;
    slots.push_back(i);
    members.emplace_back(rules_->SliceEnd(each), list[i]);
  }
  std::stable_sort(members.begin(), members.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < slots.size(); ++i) list[slots[i]] = members[i].second;
}

template <typename T, typename ReservationOf>
void PreemptionCandidates::OrderByWork(std::vector<T>& list, ReservationOf reservation_of) const {
  std::vector<std::pair<double, T>> members;
  for (const T& each : list) members.emplace_back(WorkLost(reservation_of(each)), each);
  std::stable_sort(members.begin(), members.end(), [&](const auto& a, const auto& b) {
    const Reservation& one = reservation_of(a.second);
    const Reservation& other = reservation_of(b.second);
    if (one.evicted != other.evicted) return one.evicted;
    if (one.priority != other.priority) return one.priority < other.priority;
    return a.first < b.first;
  });
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = members[i].second;
}

}  // namespace berth::admission

#include "admission/cycle/cycle.h"

#include <algorithm>
#include <utility>

#include "admission/catalogue/required_checks.h"
#include "admission/flavors/flavor_topology.h"
#include "admission/flavors/partial_admission.h"
#include "admission/policies/kept_places.h"
#include "admission/policies/new_victims.h"
#include "admission/policies/victim_rules.h"
#include "admission/workloads/workload_slices.h"
#include "api/condition.h"
#include "api/reasons.h"
#include "base/assert.h"
#include "base/prefetch.h"

namespace berth::admission {

namespace {

constexpr std::size_t kHeadOfQueue = 192;  // bytes of QueueState that each head reads

}  // namespace

Remark Cycle::WhyNotNominated(const HeadInput& head) const {
  if (head.workload->failed_check) return Remark::kFailedChecks;
  if (!Usable(context_.state, head.head.cluster_queue)) return Remark::kQueueInactive;
  const bool passes = head.reserved == nullptr ? context_.queues.NamespacePasses(head.head)
                                               : context_.queues.NamespacePasses(
                                                     head.head.cluster_queue,
                                                     head.workload->object->meta.namespace_name);
  if (!passes) return Remark::kNamespaceMismatch;
  return Remark::kNone;
}

// Heads of a thousand queues lie far apart in memory.
void Cycle::Expect(const HeadInput& head) const {
  Prefetch(OwnersOf(head.workload->object), 1);
  Prefetch(&context_.state.queue(head.head.cluster_queue), kHeadOfQueue);
}

void Cycle::Nominate(const HeadInput& head) {
  Decision& decision = decisions_->Make();
  decision.workload = head.head.workload;
  decision.object = head.workload->object;
  decision.cluster_queue = head.head.cluster_queue;
  decision.second_pass = head.reserved != nullptr;
  if (head.replaces != nullptr) decision.replaces = head.replaces->object;
  decision.remark = WhyNotNominated(head);
  if (decision.remark == Remark::kNamespaceMismatch) {
    decision.requeue_reason = queue::RequeueReason::kNamespaceMismatch;
  }
  if (decision.remark != Remark::kNone) {
    never_nominated_.push_back(&decision);
    return;
  }
  CycleEntry& entry = entries_.emplace_back(CycleEntry{head, decision, {}, {}});
  nomination_.AssignFlavors(entry, head.scan, nullptr);
  if (head.plan != nullptr) nomination_.KeepToPlan(entry);
  decision.keeps_plan = entry.input.plan != nullptr;
}

void Cycle::Run(std::int64_t number, const std::vector<HeadInput>& heads, DecisionList& decisions) {
  nomination_.Begin(number);
  owners_.Begin(number, entries_);
  admitted_ = false;
  decisions_ = &decisions;
  decisions.Reset(heads.size());
  entries_.reserve(heads.size());
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (i + 2 * kPrefetchAhead < heads.size()) {
      Prefetch(heads[i + 2 * kPrefetchAhead].workload, sizeof(queue::WorkloadInfo));
    }
    if (i + kPrefetchAhead < heads.size()) Expect(heads[i + kPrefetchAhead]);
    Nominate(heads[i]);
  }
  const ClusterState::WhatIf what_if = context_.state.Begin();
  const bool nobody_compares =
      !IsFair() && std::all_of(entries_.begin(), entries_.end(), [](const CycleEntry& entry) {
        return entry.placed.empty() && entry.input.reserved == nullptr;
      });
  preemptions_.Begin(nobody_compares ? CyclePreemptions::QuotaLeaves::kAtOnce
                                     : CyclePreemptions::QuotaLeaves::kInWhatIfs);
  if (IsFair()) {
    RunFair();
  } else {
    RunClassical();
  }
  context_.search.ExcludeNone();
  context_.state.RollBack(what_if);
  std::sort(never_nominated_.begin(), never_nominated_.end(), [](const auto* a, const auto* b) {
    return a->object->meta.key() < b->object->meta.key();
  });
  for (Decision* decision : never_nominated_) decisions.List(*decision);
  entries_.clear();
  owners_.Clear();
  parked_.Clear();
  never_nominated_.clear();
  plans_.Clear();
  preemptions_.Clear();
}

void Cycle::ProcessInOrder() {
  Sort(context_.state, order_);
  for (const EntryOrder& next : order_) Process(*next.entry);
}

void Cycle::RunClassical() {
  order_.clear();
  for (CycleEntry& entry : entries_) order_.push_back(OrderOf(entry, context_.gates));
  ProcessInOrder();
}

// Entries with quota do not take part in the tournament.
void Cycle::RunFair() {
  order_.clear();
  for (CycleEntry& entry : entries_) {
    if (entry.input.reserved != nullptr) order_.push_back(OrderOf(entry, context_.gates));
  }
  ProcessInOrder();
  tournament_.Clear();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const CycleEntry& entry = entries_[i];
    if (entry.input.reserved != nullptr) continue;
    tournament_.Add({i, entry.input.head.cluster_queue, entry.input.workload,
                     &entry.decision.assignment.usage, entry.GoesFirst()});
  }
  while (const std::optional<std::size_t> winner = tournament_.Next()) {
    Process(entries_[*winner]);
  }
}

bool Cycle::Overlaps(const CycleEntry& entry) const {
  return std::any_of(entry.targets.begin(), entry.targets.end(), [this](const auto& target) {
    return context_.search.IsExcluded(*target.reservation);
  });
}

// An earlier entry has taken some of this entry's victims: assigns flavors again as if those had
// gone, only the nominated ones. An entry that fits then is kDeferredFit.
void Cycle::RecomputeOverlap(CycleEntry& entry) {
  ClusterState& state = context_.state;
  const ClusterState::WhatIf what_if = state.Begin();
  preemptions_.ShowStopped(state.queue(entry.input.head.cluster_queue).node);
  const Assignment nominated = std::move(entry.decision.assignment);
  nomination_.AssignFlavors(entry, nullptr, &nominated);
  state.RollBack(what_if);
  Decision& decision = entry.decision;
  if (decision.assignment.mode == AssignmentMode::kFit) {
    decision.assignment.mode = AssignmentMode::kDeferredFit;
    decision.target_search = TargetSearch::kDeferredFit;
  } else {
    const bool found = !entry.targets.empty() && !Overlaps(entry);
    decision.target_search = found ? TargetSearch::kNewTargets : TargetSearch::kSkipped;
  }
}

// Earlier entries have taken its domains: assigns again, only the nominated flavors.
void Cycle::RecomputeNodes(CycleEntry& entry) {
  // Victims of earlier entries are in the state.
  context_.search.ExcludeNone();
  if (entry.input.reserved != nullptr) {
    nomination_.AssignFlavors(entry, nullptr, nullptr);
  } else {
    const Assignment nominated = std::move(entry.decision.assignment);
    nomination_.AssignFlavors(entry, nullptr, &nominated);
  }
  for (const Reservation* gone : preemptions_.preempted()) context_.search.Exclude(*gone);
}

// Assigns nodes again. Returns whether the entry had room without the nodes that claims of this
// cycle keep, and has none now: claims end with the cycle, and no change would tell their end.
bool Cycle::LosesNodesToClaim(CycleEntry& entry) {
  const auto has_room = [&entry] {
    return entry.decision.assignment.mode == AssignmentMode::kFit || !entry.targets.empty();
  };
  const bool had_room = has_room();
  RecomputeNodes(entry);
  return context_.own_rules.wake_the_flavor && had_room && !has_room() &&
         !entry.decision.second_pass && preemptions_.claims_nodes();
}

// Processes an entry of the second pass; returns whether the entry is complete.
bool Cycle::ProcessAgain(CycleEntry& entry) {
  Decision& decision = entry.decision;
  if (!context_.gates.tas_failed_node_replacement_fail_fast ||
      !HasUnhealthyAssignment(*decision.object) ||
      decision.assignment.mode == AssignmentMode::kFit) {
    return false;
  }
  decision.outcome = Outcome::kEvictForNodeFailure;
  return true;
}

void Cycle::Skip(CycleEntry& entry, Remark remark) {
  entry.decision.outcome = Outcome::kSkipped;
  entry.decision.remark = remark;
  entry.decision.requeue_reason = queue::RequeueReason::kFailedAfterNomination;
  if (!context_.gates.flavor_fungibility_preserve_scan_progress) {
    entry.decision.assignment.scan.positions.clear();
  }
}

void Cycle::SkipWithoutRoom(CycleEntry& entry) {
  Skip(entry, Remark::kNoLongerFits);
  const NodeId leaf = context_.state.queue(entry.decision.cluster_queue).node;
  auto keeper = preemptions_.KeeperOf(leaf, entry.decision.assignment.usage);
  if (keeper != nullptr) {
    entry.decision.remark = Remark::kHeldForPreemptor;
    entry.decision.held_for = std::move(keeper);
  }
  if (entry.input.plan != nullptr) room_.KeepFreed(entry);
}

// Until the wake-up, the other workloads of the shape would be skipped, too.
void Cycle::SkipForParked(CycleEntry& entry, Remark why) {
  Skip(entry, why);
  entry.decision.requeue_reason = queue::RequeueReason::kNoFit;
  entry.decision.assignment.scan.positions.clear();  // the next attempt tries the same flavor
}

void Cycle::SkipForPlace(CycleEntry& entry, const KeptPlace& place) {
  Skip(entry, Remark::kPlaceIsKept);
  entry.decision.held_for = place.object;
  entry.decision.remark_at = place.at;
  // Other workloads of the shape may end earlier.
  entry.decision.requeue_reason = queue::RequeueReason::kGeneric;
  entry.decision.assignment.scan.positions.clear();  // the next attempt tries the same flavor
}

void Cycle::Process(CycleEntry& entry) {
  if (entry.done) return;  // processed ahead of a plan
  if (entry.input.plan != nullptr) ProcessThoseAbove(entry);
  entry.done = true;
  ProcessNow(entry);
  plans_.NoteProcessed(entry);
}

void Cycle::ProcessThoseAbove(const CycleEntry& holder) {
  CyclePlans::HeadsAbove heads = plans_.Above(holder, entries_);
  while (CycleEntry* head = heads.Next()) {
    head->done = true;
    if (IsFair()) tournament_.Withdraw(head->input.head.cluster_queue);
    ProcessNow(*head);
    plans_.NoteProcessed(*head);
  }
}

void Cycle::ProcessNow(CycleEntry& entry) {
  Decision& decision = entry.decision;
  decisions_->List(decision);
  if (entry.input.replaces != nullptr && context_.search.IsExcluded(*entry.input.replaces)) {
    entry.targets.clear();
    return Skip(entry, Remark::kOverlappingTargets);  // an earlier entry preempts the slice
  }
  if (context_.gates.recompute_assignment_upon_preemption_targets_overlap && Overlaps(entry)) {
    RecomputeOverlap(entry);
  } else if (context_.gates.tas_recompute_assignment_within_scheduling_cycle &&
             !entry.placed.empty() && room_.RoomFor(entry) == Room::kNoNodes) {
    if (LosesNodesToClaim(entry)) return SkipWithoutRoom(entry);
  }
  FillVictims(entry);
  if (decision.second_pass && ProcessAgain(entry)) return;
  if (decision.assignment.mode == AssignmentMode::kNoFit) {
    decision.outcome = Outcome::kNoFit;
    decision.requeue_reason =
        entry.was_held_back ? queue::RequeueReason::kGeneric : queue::RequeueReason::kNoFit;
    return;
  }
  if (decision.assignment.mode == AssignmentMode::kPreempt && entry.targets.empty()) {
    decision.outcome = Outcome::kNoCandidates;
    // A candidate that the rule withheld says nothing about other workloads of the shape.
    decision.requeue_reason = entry.was_held_back ? queue::RequeueReason::kGeneric
                                                  : queue::RequeueReason::kPreemptionNoCandidates;
    room_.ReserveForPreemptor(entry);
    return;
  }
  if (decision.assignment.mode == AssignmentMode::kDeferredFit) {
    decision.outcome = Outcome::kDeferred;
    decision.remark = Remark::kFitsAfterPreemptions;
    decision.requeue_reason = queue::RequeueReason::kPendingPreemption;
    decision.assignment.scan.positions.clear();
    room_.Claim(entry);
    return;
  }
  if (Overlaps(entry)) {
    Skip(entry, Remark::kOverlappingTargets);
    return;
  }
  if (room_.RoomFor(entry) != Room::kEnough) {
    SkipWithoutRoom(entry);
    return;
  }
  if (decision.assignment.mode == AssignmentMode::kPreempt) {
    if (PutsOff(entry)) return;
    room_.Claim(entry);
    Preempt(entry);
  } else if (!decision.second_pass && MustWaitForPods()) {  // its own pods may be the late ones
    room_.Claim(entry);
    Skip(entry, Remark::kWaitingForPodsReady);
    decision.assignment.scan.positions.clear();  // the next attempt tries the same flavor
  } else if (!decision.second_pass && YieldsToBlocked(entry)) {
    Skip(entry, Remark::kWaitingForPodsReady);
    decision.assignment.scan.positions.clear();
  } else if (const Remark why = parked_.WhyFirst(entry); why != Remark::kNone) {
    SkipForParked(entry, why);
  } else if (owners_.GoBefore(entry)) {
    Skip(entry, Remark::kOwnersComeFirst);
    decision.assignment.scan.positions.clear();  // the next attempt tries the same flavor
  } else if (const KeptPlace* place = context_.kept_places.DelayedBy(entry)) {
    SkipForPlace(entry, *place);
  } else {
    room_.CountIn(entry);
    Admit(entry);
    if (entry.input.replaces != nullptr) context_.search.Exclude(*entry.input.replaces);
    owners_.NoteAdmitted(entry);
    parked_.NoteAdmitted(entry);
  }
}

// waitForPodsReady.blockAdmission: the pods of every reservation must be ready.
bool Cycle::MustWaitForPods() const {
  return context_.one_at_a_time &&
         (admitted_ || context_.state.reservations().not_ready_count() > 0);
}

// blockAdmission: a workload that waited for the pods of a workload goes before that workload,
// which was evicted because its pods were not ready in time. Otherwise a workload whose pods never
// become ready may block all others for ever. As in Kueue, where a blocked head is admitted as soon
// as nothing blocks it.
bool Cycle::YieldsToBlocked(const CycleEntry& entry) const {
  if (!context_.one_at_a_time) return false;
  const api::Condition* evicted =
      api::FindCondition(entry.input.workload->object->status.conditions, api::kEvicted);
  if (evicted == nullptr || evicted->status != api::ConditionStatus::kTrue ||
      evicted->reason != api::kPodsReadyTimeout) {
    return false;
  }
  return std::any_of(entries_.begin(), entries_.end(), [&](const CycleEntry& other) {
    if (other.done || other.decision.assignment.mode != AssignmentMode::kFit) return false;
    const api::Condition* told =
        api::FindCondition(other.input.workload->object->status.conditions, api::kQuotaReserved);
    return told != nullptr && told->status == api::ConditionStatus::kFalse &&
           told->reason == api::kWaitingForPodsReady &&
           told->last_transition_time <= evicted->last_transition_time;
  });
}

void Cycle::FillVictims(CycleEntry& entry) {
  entry.decision.victims.clear();
  for (const PreemptionTarget& target : entry.targets) {
    const Reservation& gone = *target.reservation;
    // A victim that is evicted already keeps its first reason.
    const PreemptionReason reason =
        gone.evicted ? FirstReason(*gone.object).value_or(target.reason) : target.reason;
    std::optional<WallTime> soon_done_at;
    if (context_.own_rules.spare_the_soon_done) {
      soon_done_at = context_.new_victims.SoonDoneAt(gone, context_.victim_rules.now());
    }
    entry.decision.victims.push_back(
        {gone.workload, gone.object, gone.cluster_queue, reason, gone.evicted, soon_done_at});
  }
}

// Whether the preemption waits, because it would lose too much work, or would stop a workload that
// has just begun.
bool Cycle::PutsOff(CycleEntry& entry) {
  if (entry.input.plan != nullptr || entry.decision.second_pass) return false;
  return LosesTooMuch(entry) || StopsJustAdmitted(entry);
}

bool Cycle::LosesTooMuch(CycleEntry& entry) {
  if (!context_.victim_rules.any()) return false;
  const Decision& decision = entry.decision;
  const auto contested = ContestedBy(decision.assignment);
  const PreemptorNeed need{*entry.input.workload, decision.cluster_queue, decision.assignment.usage,
                           contested};
  double lost = 0;
  for (const PreemptionTarget& target : entry.targets) {
    lost += context_.victim_rules.WorkLost(*target.reservation, need);
  }
  const std::optional<WallTime> until = context_.victim_rules.PutOffUntil(need, lost);
  if (until) PutOff(entry, Remark::kPreemptionPutOff, *until);
  return until.has_value();
}

bool Cycle::StopsJustAdmitted(CycleEntry& entry) {
  if (!context_.own_rules.spare_the_just_admitted) return false;
  const std::optional<WallTime> until =
      context_.new_victims.HeldUntil(entry.decision.workload, entry.input.workload->queued_at,
                                     entry.targets, context_.victim_rules.now());
  if (!until) return false;
  context_.victim_rules.TryAgain(entry.decision.cluster_queue, *until);
  PutOff(entry, Remark::kVictimJustAdmitted, *until);
  return true;
}

// Other workloads of the cycle leave the quota of the preemption.
void Cycle::PutOff(CycleEntry& entry, Remark remark, WallTime until) {
  Decision& decision = entry.decision;
  Skip(entry, remark);
  decision.remark_at = until;
  const auto cause = remark == Remark::kVictimJustAdmitted ? SparedCandidate::Cause::kJustAdmitted
                                                           : SparedCandidate::Cause::kPutOff;
  SparedCandidates spared;
  for (const PreemptionTarget& target : entry.targets) {
    if (spared.size() == kMaxSpared) break;
    spared.push_back({target.reservation->workload, cause});
  }
  for (const SparedCandidate& other : decision.spared) {
    if (spared.size() < kMaxSpared) spared.push_back(other);
  }
  decision.spared = spared;
  decision.requeue_reason = queue::RequeueReason::kGeneric;
  decision.assignment.scan.positions.clear();  // the next attempt tries the same flavor
  room_.ReserveForPreemptor(entry);
}

void Cycle::Preempt(CycleEntry& entry) {
  for (const PreemptionTarget& target : entry.targets) {
    preemptions_.Add(*target.reservation);
    context_.search.Exclude(*target.reservation);
  }
  entry.decision.outcome = Outcome::kPreempting;
  entry.decision.requeue_reason = queue::RequeueReason::kPendingPreemption;
  entry.decision.assignment.scan.positions.clear();
}

void Cycle::Admit(CycleEntry& entry) {
  Decision& decision = entry.decision;
  if (!context_.state.queue(decision.cluster_queue).spec.admission_checks.empty()) {
    std::vector<std::string> flavors;
    const queue::Names& names = context_.state.vocabulary().flavors;
    for (const PodSetDecision& pod_set : decision.assignment.pod_sets) {
      for (const FlavorChoice& choice : pod_set.flavors) flavors.push_back(names[choice.flavor]);
    }
    decision.checks = RequiredChecks(context_.state.queue(decision.cluster_queue).spec, flavors);
  }
  const auto is_ready = [&decision](const std::string& name) {
    return std::any_of(decision.object->status.admission_checks.begin(),
                       decision.object->status.admission_checks.end(),
                       [&name](const api::AdmissionCheckState& check) {
                         return check.name == name && check.state == api::CheckState::kReady;
                       });
  };
  const bool waits_for_nodes = std::any_of(
      decision.assignment.pod_sets.begin(), decision.assignment.pod_sets.end(),
      [](const PodSetDecision& pod_set) { return pod_set.delayed_topology == "Pending"; });
  const bool open =
      waits_for_nodes || !std::all_of(decision.checks.begin(), decision.checks.end(), is_ready);
  decision.outcome = open ? Outcome::kQuotaReserved : Outcome::kAdmitted;
  admitted_ = true;
}

}  // namespace berth::admission

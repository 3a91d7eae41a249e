#include "admission/cycle.h"

#include <algorithm>
#include <utility>

#include "admission/flavor_topology.h"
#include "admission/partial_admission.h"
#include "admission/workload_slices.h"
#include "api/condition.h"
#include "api/reasons.h"
#include "base/assert.h"
#include "base/prefetch.h"

namespace berth::admission {

namespace {

constexpr std::size_t kHeadOfQueue = 192;  // bytes of QueueState that each head reads

// The planned count of each pod set; fewer where some pods need no quota any more.
std::vector<std::int32_t> CountsOf(const PreemptionPlan& plan, const queue::WorkloadInfo& info) {
  std::vector<std::int32_t> counts;
  for (std::size_t i = 0; i < info.pod_sets.size(); ++i) {
    counts.push_back(std::min(plan.assignment.pod_sets[i].count, info.pod_sets[i].count));
  }
  return counts;
}

// False without a look at the object.
bool MayBeReduced(const queue::WorkloadInfo& workload) {
  return std::any_of(workload.pod_sets.begin(), workload.pod_sets.end(),
                     [](const queue::PodSetInfo& info) { return info.may_shrink; });
}

}  // namespace

Remark Cycle::WhyNotNominated(const HeadInput& head) const {
  if (head.workload->failed_check) return Remark::kFailedChecks;
  if (!context_.state.Usable(head.head.cluster_queue)) return Remark::kQueueInactive;
  const bool passes = head.reserved == nullptr ? context_.queues.NamespacePasses(head.head)
                                               : context_.queues.NamespacePasses(
                                                     head.head.cluster_queue,
                                                     head.workload->object->meta.namespace_name);
  if (!passes) return Remark::kNamespaceMismatch;
  return Remark::kNone;
}

PreemptionRequest Cycle::RequestFor(const Entry& entry, const Assignment& assignment) const {
  PreemptionRequest request;
  request.workload = entry.input.workload;
  request.queue = entry.input.head.cluster_queue;
  request.usage = assignment.usage;
  const ResourceId pods =
      context_.own_rules.victims_for_pods ? queue::Names::kNone : context_.state.pods();
  erase_if(request.usage, [&](const FlavorResourceAmount& item) {
    return item.amount == 0 ||
           (pods >= 0 && context_.state.ResourceOf(item.flavor_resource) == pods);
  });
  for (const PodSetDecision& pod_set : assignment.pod_sets) {
    for (const FlavorChoice& choice : pod_set.flavors) {
      auto& contested = request.contested;
      if (choice.mode == AssignmentMode::kPreempt &&
          std::find(contested.begin(), contested.end(), choice.flavor_resource) ==
              contested.end()) {
        contested.push_back(choice.flavor_resource);
      }
    }
  }
  if (context_.gates.topology_aware_scheduling && UsesTopologies(context_.state, assignment)) {
    request.placements = OpenPlacements(context_.state, context_.state.queue(request.queue),
                                        *request.workload->object, assignment)
                             .requests;
  }
  return request;
}

void Cycle::AssignFlavors(Entry& entry, const ScanState* scan, const Assignment* nominated) {
  if (entry.input.reserved != nullptr) {
    AssignAgain(entry);
  } else {
    // The slice that the entry replaces is no victim: its pods go on in the new slice.
    const std::size_t excluded = context_.search.excluded_count();
    if (entry.input.replaces != nullptr) context_.search.Exclude(*entry.input.replaces);
    Choose(entry, scan, nominated);
    if (!entry.targets.empty() && context_.own_rules.no_preemption_in_return)
      HoldBack(entry, scan, nominated);
    if (entry.input.replaces != nullptr) context_.search.ExcludeFirst(excluded);
  }
  NotePlaced(entry);
}

void Cycle::Choose(Entry& entry, const ScanState* scan, const Assignment* nominated) {
  WorkloadOracle oracle(context_.search, context_.state, *entry.input.workload,
                        entry.input.head.cluster_queue);
  const FlavorAssigner::Context assigner_context{context_.state,
                                                 context_.gates,
                                                 IsFair(),
                                                 number_,
                                                 context_.gates.topology_aware_scheduling,
                                                 context_.ignore_undeclared_resources};
  const Reservation* replaced = entry.input.replaces;
  Charges charges;
  if (replaced != nullptr) {
    charges = ChargesOf(context_.state, *replaced->object,
                        context_.gates.reclaimable_pods ? queue::ReclaimRule::kFrees
                                                        : queue::ReclaimRule::kIgnored);
  }
  FlavorAssigner assigner(assigner_context, *entry.input.workload, entry.input.head.cluster_queue,
                          replaced == nullptr ? scan : nullptr, nominated, oracle);
  if (replaced != nullptr) assigner.SetReplaced(*replaced->object, charges);
  entry.targets.clear();
  entry.decision.spared.clear();
  std::vector<std::int32_t> counts;
  const PreemptionPlan* plan = entry.input.plan;
  const bool as_planned = plan != nullptr && nominated == &plan->assignment;
  if (as_planned) counts = CountsOf(*plan, *entry.input.workload);
  Assignment& full = entry.decision.assignment;
  assigner.Assign(counts, full);
  if (as_planned && full.mode == AssignmentMode::kPreempt) {
    entry.targets = context_.search.Keep(RequestFor(entry, full), plan->victims);
  } else if (full.mode == AssignmentMode::kPreempt) {
    entry.targets = oracle.Targets(RequestFor(entry, full), &entry.decision.spared);
  }
  const bool usable = full.mode == AssignmentMode::kFit || !entry.targets.empty() || as_planned;
  if (!usable) TryPartially(entry, assigner, oracle);
}

// Assigns fewer pods, if some counts fit; else changes nothing.
void Cycle::TryPartially(Entry& entry, FlavorAssigner& assigner, WorkloadOracle& oracle) {
  if (!context_.gates.partial_admission || !MayBeReduced(*entry.input.workload)) return;
  const auto probe = [&](const std::vector<std::int32_t>& counts) {
    Assignment assignment;
    assigner.Assign(counts, assignment);
    if (assignment.mode == AssignmentMode::kFit) {
      entry.decision.assignment = std::move(assignment);
      entry.targets.clear();
      return true;
    }
    if (assignment.mode != AssignmentMode::kPreempt) return false;
    PreemptionTargets targets =
        oracle.Targets(RequestFor(entry, assignment), &entry.decision.spared);
    if (targets.empty()) return false;
    entry.decision.assignment = std::move(assignment);
    entry.targets = std::move(targets);
    return true;
  };
  LargestReducedCounts(*entry.input.workload->object, probe);
}

bool Cycle::Before(const EntryOrder& a, const EntryOrder& b) const {
  if (a.holds_quota != b.holds_quota) return a.holds_quota;
  if (a.goes_first != b.goes_first) return a.goes_first;
  if (a.borrow_height != b.borrow_height) return a.borrow_height < b.borrow_height;
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.queued_at != b.queued_at) return a.queued_at < b.queued_at;
  // Kueue's order of the rest is random. Berth orders by name: numbers depend on the order of
  // arrival, and a restart must not change decisions.
  if (!a.holds_quota) return a.entry < b.entry;  // order of the heads
  const HeadInput& first = a.entry->input;
  const HeadInput& second = b.entry->input;
  const ClusterState& state = context_.state;
  const std::string& first_queue = state.queue(first.head.cluster_queue).name;
  const std::string& second_queue = state.queue(second.head.cluster_queue).name;
  if (first_queue != second_queue) return first_queue < second_queue;
  return first.workload->object->meta.key() < second.workload->object->meta.key();
}

Cycle::EntryOrder Cycle::OrderOf(Entry& entry) const {
  const queue::WorkloadInfo& workload = *entry.input.workload;
  const bool by_priority = context_.gates.priority_sorting_within_cohort;
  return {.holds_quota = entry.input.reserved != nullptr,
          .goes_first = GoesFirst(entry),
          .borrow_height = entry.decision.assignment.borrow_height,
          .priority = by_priority ? workload.priority : 0,
          .queued_at = workload.queued_at,
          .entry = &entry};
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
  Entry& entry = entries_.emplace_back(Entry{head, decision, {}, {}});
  AssignFlavors(entry, head.scan, nullptr);
  if (head.plan != nullptr) KeepToPlan(entry);
  decision.keeps_plan = entry.input.plan != nullptr;
}

void Cycle::Run(std::int64_t number, const std::vector<HeadInput>& heads, DecisionList& decisions) {
  number_ = number;
  admitted_ = false;
  plans_indexed_ = false;
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
      !IsFair() && std::all_of(entries_.begin(), entries_.end(), [](const Entry& entry) {
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
  owners_.clear();
  never_nominated_.clear();
  plans_.clear();
  preemptions_.Clear();
}

void Cycle::ProcessInOrder() {
  std::sort(order_.begin(), order_.end(),
            [this](const EntryOrder& a, const EntryOrder& b) { return Before(a, b); });
  for (const EntryOrder& next : order_) Process(*next.entry);
}

void Cycle::RunClassical() {
  order_.clear();
  for (Entry& entry : entries_) order_.push_back(OrderOf(entry));
  ProcessInOrder();
}

// Entries with quota do not take part in the tournament.
void Cycle::RunFair() {
  order_.clear();
  for (Entry& entry : entries_) {
    if (entry.input.reserved != nullptr) order_.push_back(OrderOf(entry));
  }
  ProcessInOrder();
  tournament_.Clear();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (entry.input.reserved != nullptr) continue;
    tournament_.Add({i, entry.input.head.cluster_queue, entry.input.workload,
                     &entry.decision.assignment.usage, GoesFirst(entry)});
  }
  while (const std::optional<std::size_t> winner = tournament_.Next()) {
    Process(entries_[*winner]);
  }
}

bool Cycle::Overlaps(const Entry& entry) const {
  return std::any_of(entry.targets.begin(), entry.targets.end(), [this](const auto& target) {
    return context_.search.IsExcluded(*target.reservation);
  });
}

// An earlier entry has taken some of this entry's victims: assigns flavors again as if those had
// gone, only the nominated ones. An entry that fits then is kDeferredFit.
void Cycle::RecomputeOverlap(Entry& entry) {
  ClusterState& state = context_.state;
  const ClusterState::WhatIf what_if = state.Begin();
  preemptions_.ShowStopped(state.queue(entry.input.head.cluster_queue).node);
  const Assignment nominated = std::move(entry.decision.assignment);
  AssignFlavors(entry, nullptr, &nominated);
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

void Cycle::Skip(Entry& entry, Remark remark) {
  entry.decision.outcome = Outcome::kSkipped;
  entry.decision.remark = remark;
  entry.decision.requeue_reason = queue::RequeueReason::kFailedAfterNomination;
  if (!context_.gates.flavor_fungibility_preserve_scan_progress) {
    entry.decision.assignment.scan.positions.clear();
  }
}

void Cycle::Process(Entry& entry) {
  if (entry.done) return;  // processed ahead of a plan
  if (entry.input.plan != nullptr) ProcessThoseAbove(entry);
  entry.done = true;
  ProcessNow(entry);
  NoteProcessed(entry);
}

void Cycle::ProcessNow(Entry& entry) {
  Decision& decision = entry.decision;
  decisions_->List(decision);
  if (entry.input.replaces != nullptr && context_.search.IsExcluded(*entry.input.replaces)) {
    entry.targets.clear();
    return Skip(entry, Remark::kOverlappingTargets);  // an earlier entry preempts the slice
  }
  if (context_.gates.recompute_assignment_upon_preemption_targets_overlap && Overlaps(entry)) {
    RecomputeOverlap(entry);
  } else if (context_.gates.tas_recompute_assignment_within_scheduling_cycle &&
             !entry.placed.empty() && RoomFor(entry) == Room::kNoNodes) {
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
    ReserveForPreemptor(entry);
    return;
  }
  if (decision.assignment.mode == AssignmentMode::kDeferredFit) {
    decision.outcome = Outcome::kDeferred;
    decision.remark = Remark::kFitsAfterPreemptions;
    decision.requeue_reason = queue::RequeueReason::kPendingPreemption;
    decision.assignment.scan.positions.clear();
    Claim(entry);
    return;
  }
  if (Overlaps(entry)) {
    Skip(entry, Remark::kOverlappingTargets);
    return;
  }
  if (RoomFor(entry) != Room::kEnough) {
    SkipWithoutRoom(entry);
    return;
  }
  if (decision.assignment.mode == AssignmentMode::kPreempt) {
    Claim(entry);
    Preempt(entry);
  } else if (!decision.second_pass && MustWaitForPods()) {  // its own pods may be the late ones
    Claim(entry);
    Skip(entry, Remark::kWaitingForPodsReady);
    decision.assignment.scan.positions.clear();  // the next attempt tries the same flavor
  } else if (!decision.second_pass && YieldsToBlocked(entry)) {
    Skip(entry, Remark::kWaitingForPodsReady);
    decision.assignment.scan.positions.clear();
  } else if (OwnersComeFirst(entry)) {
    // No later borrower takes the quota instead. In a tournament an owner may be later.
    if (!IsFair()) Claim(entry);
    Skip(entry, Remark::kOwnersComeFirst);
    decision.assignment.scan.positions.clear();  // the next attempt tries the same flavor
  } else {
    CountIn(entry);
    Admit(entry);
    if (entry.input.replaces != nullptr) context_.search.Exclude(*entry.input.replaces);
    NoteOwner(entry);
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
bool Cycle::YieldsToBlocked(const Entry& entry) const {
  if (!context_.one_at_a_time) return false;
  const api::Condition* evicted =
      api::FindCondition(entry.input.workload->object->status.conditions, api::kEvicted);
  if (evicted == nullptr || evicted->status != api::ConditionStatus::kTrue ||
      evicted->reason != api::kPodsReadyTimeout) {
    return false;
  }
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& other) {
    if (other.done || other.decision.assignment.mode != AssignmentMode::kFit) return false;
    const api::Condition* told =
        api::FindCondition(other.input.workload->object->status.conditions, api::kQuotaReserved);
    return told != nullptr && told->status == api::ConditionStatus::kFalse &&
           told->reason == api::kWaitingForPodsReady &&
           told->last_transition_time <= evicted->last_transition_time;
  });
}

void Cycle::ReserveForPreemptor(const Entry& entry) {
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
    const Amount room = api::SubtractAmounts(tree.Nominal(queue.node, fr), used);
    Amount amount = item.amount;
    if (entry.decision.assignment.borrow_height == 0) {
      amount = std::max<Amount>(0, std::min(amount, room));
    } else if (const auto limit = tree.BorrowingLimit(queue.node, fr)) {
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

void Cycle::FillVictims(Entry& entry) {
  entry.decision.victims.clear();
  for (const PreemptionTarget& target : entry.targets) {
    const Reservation& gone = *target.reservation;
    // A victim that is evicted already keeps its first reason.
    const PreemptionReason reason =
        gone.evicted ? FirstReason(*gone.object).value_or(target.reason) : target.reason;
    entry.decision.victims.push_back(
        {gone.workload, gone.object, gone.cluster_queue, reason, gone.evicted});
  }
}

void Cycle::Preempt(Entry& entry) {
  for (const PreemptionTarget& target : entry.targets) {
    preemptions_.Add(*target.reservation);
    context_.search.Exclude(*target.reservation);
  }
  entry.decision.outcome = Outcome::kPreempting;
  entry.decision.requeue_reason = queue::RequeueReason::kPendingPreemption;
  entry.decision.assignment.scan.positions.clear();
}

void Cycle::Admit(Entry& entry) {
  Decision& decision = entry.decision;
  if (!context_.state.queue(decision.cluster_queue).spec.admission_checks.empty()) {
    std::vector<std::string> flavors;
    const queue::Names& names = context_.state.vocabulary().flavors;
    for (const PodSetDecision& pod_set : decision.assignment.pod_sets) {
      for (const FlavorChoice& choice : pod_set.flavors) flavors.push_back(names[choice.flavor]);
    }
    decision.checks = context_.state.RequiredChecks(decision.cluster_queue, flavors);
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

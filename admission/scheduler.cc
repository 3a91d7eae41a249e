#include "admission/scheduler.h"

#include <algorithm>

#include "api/condition.h"
#include "api/reasons.h"
#include "base/assert.h"
#include "base/prefetch.h"

namespace berth::admission {
namespace {

bool HoldsQuota(const api::Workload& object, const OwnRules& rules) {
  return api::IsTrue(object.status.conditions, api::kQuotaReserved) && object.status.admission &&
         !api::IsTrue(object.status.conditions, api::kFinished) &&
         (object.spec.active || rules.hold_until_stopped);
}

// Others may take its quota now, or no longer. Kueue (PriorityChanged) asks for priorities of its
// own classes alone.
bool PriorityChanged(const queue::WorkloadInfo& before, const queue::WorkloadInfo& after) {
  const auto& old_class = before.object->spec.priority_class_ref;
  const auto& new_class = after.object->spec.priority_class_ref;
  if (!new_class || new_class->kind != "WorkloadPriorityClass") return false;
  if (old_class && old_class->kind != "WorkloadPriorityClass") return false;
  return before.priority != after.priority || !old_class || old_class->name != new_class->name;
}

double ToDouble(const api::Quantity& quantity) {
  constexpr std::int64_t kMostInNano = INT64_MAX / 1'000'000'000;
  const std::int64_t whole = quantity.Value();
  return whole < kMostInNano ? static_cast<double>(quantity.NanoValue()) * 1e-9
                             : static_cast<double>(whole);
}

}  // namespace

Scheduler::Scheduler(const SchedulerConfig& config)
    : config_(config),
      queues_(config.gates.scheduling_equivalence_hashing, config.listing),
      state_(queues_),
      search_(state_, config_.gates, config_.fair_sharing),
      cycle_runner_({&state_, &queues_, &config_.gates, &config_.own_rules, &config_.fair_sharing,
                     &search_, 0, config_.block_admission, config_.ignore_undeclared_resources,
                     config_.own_rules.no_preemption_in_return ? &history_ : nullptr}) {
  info_options_.ordering.pods_ready_requeuing = config.pods_ready_requeuing;
  info_options_.ordering.priority_sorting_within_cohort =
      config.gates.priority_sorting_within_cohort;
  info_options_.ordering.priority_boost = config.gates.priority_boost;
  info_options_.equivalence_hashing = config.gates.scheduling_equivalence_hashing;
  info_options_.excluded_resource_prefixes = config.excluded_resource_prefixes;
  info_options_.transformations = config.transformations;
  state_.placer().SetProfile({config.gates.tas_profile_mixed, config.gates.tas_balanced_placement});
  if (config.admission_fair_sharing) {
    ledger_.emplace(*config.admission_fair_sharing);
    queues_.OrderByUsage();
    search_.UseLedger(&*ledger_);
  }
}

void Scheduler::Request(const Wakes& wakes) { wake_ups_.insert(wakes.begin(), wakes.end()); }

void Scheduler::RequestFor(ClusterQueueId queue) {
  if (const std::optional<WakeTarget> tree = state_.TreeOf(queue)) wake_ups_.insert(*tree);
}

void Scheduler::ApplyNamespace(const api::Namespace& object) {
  std::optional<api::StringMap> before;
  const auto known = namespace_labels_.find(object.meta.name);
  if (known != namespace_labels_.end()) before = known->second;
  queues_.SetNamespace(object.meta.name, object.meta.labels);
  namespace_labels_[object.meta.name] = object.meta.labels;
  if (before == object.meta.labels) return;
  for (const ClusterQueueId queue : queues_.NewlyMatching(before, object.meta.labels)) {
    RequestFor(queue);
  }
}

void Scheduler::ForgetNamespace(const std::string& name) {
  queues_.RemoveNamespace(name);
  namespace_labels_.erase(name);
}

void Scheduler::ApplyResourceFlavor(const api::ResourceFlavor& object) {
  Request(state_.SetFlavor(object));
}
void Scheduler::ForgetResourceFlavor(const std::string& name) {
  Request(state_.RemoveFlavor(name));
}
void Scheduler::ApplyAdmissionCheck(const api::AdmissionCheck& object) {
  Request(state_.SetCheck(object));
}
void Scheduler::ForgetAdmissionCheck(const std::string& name) { Request(state_.RemoveCheck(name)); }
void Scheduler::ApplyTopology(const api::Topology& object) { Request(state_.SetTopology(object)); }
void Scheduler::ForgetTopology(const std::string& name) { Request(state_.RemoveTopology(name)); }
void Scheduler::ApplyCohort(const api::Cohort& object) {
  const std::optional<WakeTarget> before = TreeOfCohort(object.meta.name);
  const ClusterState::CohortChange change = state_.SetCohort(object);
  Request(change.wakes);
  if (change.changed) history_.Clear();  // who may preempt whom
  RequestLeft(before, TreeOfCohort(object.meta.name));
}
void Scheduler::ForgetCohort(const std::string& name) {
  const std::optional<WakeTarget> before = TreeOfCohort(name);
  const ClusterState::CohortChange change = state_.RemoveCohort(name);
  Request(change.wakes);
  if (change.changed) history_.Clear();
  RequestLeft(before, TreeOfCohort(name));
}
void Scheduler::ApplyClusterQueue(const api::ClusterQueue& object) {
  const std::optional<ClusterQueueId> known = state_.FindQueue(object.meta.name);
  const std::optional<WakeTarget> before = known ? state_.TreeOf(*known) : std::nullopt;
  const Wakes wakes = state_.SetClusterQueue(object);
  if (!wakes.empty()) history_.Clear();  // its spec, and with it perhaps who may preempt whom
  Request(wakes);
  if (known) RequestLeft(before, state_.TreeOf(*known));
}

std::optional<WakeTarget> Scheduler::TreeOfCohort(const std::string& name) const {
  const std::optional<NodeId> node = state_.CohortNode(name);
  if (!node || state_.tree().InCycle(*node)) return std::nullopt;
  return WakeTarget{-1, state_.CohortName(state_.tree().Root(*node))};
}

// What moved had perhaps borrowed from the tree it was in.
void Scheduler::RequestLeft(const std::optional<WakeTarget>& before,
                            const std::optional<WakeTarget>& after) {
  if (config_.own_rules.wake_the_tree_left && before && before != after) wake_ups_.insert(*before);
}
void Scheduler::ForgetClusterQueue(const std::string& name) {
  Request(state_.RemoveClusterQueue(name));
}
// They leave their queue; if they come back, they start anew.
void Scheduler::ForgetScans(const api::ObjectKey& local_queue) {
  for (const WorkloadId id : queues_.MembersOf(local_queue)) record(id).scan.reset();
}

void Scheduler::ApplyLocalQueue(const api::LocalQueue& object) {
  if (object.stop_policy != api::StopPolicy::kNone) ForgetScans(object.meta.key());
  queues_.SetLocalQueue(object.meta.key(), object.cluster_queue, object.stop_policy);
  if (!ledger_) return;
  ledger_->SetWeight(object.meta.key(), static_cast<double>(object.fair_weight_nano) * 1e-9);
  if (const auto& history = object.status.usage_history) {
    UsageHistory restored{{}, history->last_update};
    for (const auto& [resource, amount] : history->consumed) {
      restored.consumed[resource] = ToDouble(amount);
    }
    ledger_->Restore(object.meta.key(), std::move(restored));
  }
  UsageChanged(object.meta.key());
}
void Scheduler::ForgetLocalQueue(const api::ObjectKey& key) {
  ForgetScans(key);
  queues_.RemoveLocalQueue(key);
  if (ledger_) ledger_->Forget(key);
}

WorkloadId Scheduler::NewNumber() {
  if (free_records_.empty()) {
    free_records_.push_back(static_cast<WorkloadId>(records_.size()));
    records_.push_back(std::make_unique<Record>());
  }
  const WorkloadId id = free_records_.back();
  free_records_.pop_back();
  record(id).phase = Phase::kOutside;
  return id;
}

void Scheduler::ApplyWorkload(std::shared_ptr<const api::Workload> object, WallTime now) {
  object = pod_defaults_.Completed(std::move(object));
  const std::optional<WorkloadId> known = Find(object->meta.key());
  const WorkloadId id = known ? *known : NewNumber();
  const bool lacks_nodes = NeedsSecondPass(*object);
  const bool holds_quota = HoldsQuota(*object, config_.own_rules);
  const bool belongs = queue::BelongsInQueue(*object);
  // An assumed workload's object may still be on its way; an older one must not undo the decision.
  if (record(id).phase == Phase::kAssumed && belongs) return;
  queue::WorkloadInfo info =
      queue::BuildWorkloadInfo(std::move(object), info_options_, state_.vocabulary().resources);
  if (holds_quota) {
    MakeReserved(id, std::move(info), now);
  } else if (belongs && pod_defaults_.Problem(*info.object).empty()) {
    MakePending(id, std::move(info), now);
  } else {
    MakeOutside(id, std::move(info));
  }
  if (!known) numbers_.insert(id);
  if (lacks_nodes) {
    NoteSecondPass(id, now);
  } else {
    second_passes_.erase(id);
  }
}

void Scheduler::ForgetWorkload(const api::ObjectKey& key) {
  const auto found = numbers_.find(key);
  if (found == numbers_.end()) return;
  const WorkloadId id = *found;
  numbers_.erase(found);  // while the record has its object
  MakeOutside(id, queue::WorkloadInfo{});
  record(id) = Record{};
  record(id).forgotten_at = ++forgotten_count_;
  second_passes_.erase(id);
  free_records_.push_back(id);
}

void Scheduler::RequestAround(const api::Workload& object) {
  const api::ObjectKey key{object.meta.namespace_name, object.spec.queue_name};
  const std::optional<ClusterQueueId> queue = config_.own_rules.wake_without_local_queue
                                                  ? queues_.ClusterQueueOf(key)
                                                  : queues_.RouteOf(key);
  if (queue && state_.HasQueue(*queue)) RequestFor(*queue);
}

void Scheduler::RequestForNodesOf(const Reservation& held) {
  if (!config_.own_rules.wake_the_flavor) return;
  for (const PlacedPods& placed : held.placed) freed_flavors_.insert(placed.flavor);
}

void Scheduler::ReleaseQuota(WorkloadId id) {
  const Reservation* held = state_.reservation(id);
  if (held == nullptr) return;
  RequestForNodesOf(*held);
  const ClusterQueueId queue = held->cluster_queue;
  const std::shared_ptr<const api::Workload> object = held->object;
  CountAdmitted(*held, -1);
  state_.Release(id);
  RequestAround(*object);
  if (config_.own_rules.wake_without_local_queue) RequestFor(queue);
}

void Scheduler::MakeOutside(WorkloadId id, queue::WorkloadInfo info) {
  // Whoever leaves, even a waiting one, makes its queue's tree try again, as in Kueue.
  if (record(id).info.object != nullptr) RequestAround(*record(id).info.object);
  queues_.Remove(id);
  TakePenaltyBack(record(id));
  if (state_.reservation(id) != nullptr) history_.Departed();
  ReleaseQuota(id);
  record(id).info = std::move(info);
  record(id).scan.reset();
  record(id).plan.reset();
  history_.Forget(id);
  record(id).phase = Phase::kOutside;
}

void Scheduler::MakePending(WorkloadId id, queue::WorkloadInfo info, WallTime now) {
  TakePenaltyBack(record(id));
  ReleaseQuota(id);
  Record& known = record(id);
  const bool was_pending = known.phase == Phase::kPending;
  queues_.Upsert(id, was_pending ? &known.info : nullptr, info, now);
  if (!was_pending || !config_.gates.flavor_fungibility_preserve_scan_progress) known.scan.reset();
  const bool was_changed = known.info.object != nullptr &&
                           known.info.object->meta.generation != info.object->meta.generation;
  if (!was_pending || was_changed) {
    if (known.plan != nullptr) RequestAround(*info.object);  // what it kept is free
    known.plan.reset();
  }
  if (was_changed) history_.Forget(id);
  known.info = std::move(info);
  known.phase = Phase::kPending;
}

Usage Scheduler::UsageOf(const api::Workload& object) {
  Usage usage;
  const std::vector<std::int32_t> counts = queue::CountsAfterReclaim(object);
  for (const api::PodSetAssignment& assigned : object.status.admission->pod_set_assignments) {
    std::int32_t count = assigned.count;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (object.spec.pod_sets[i].name == assigned.name) count = std::min(count, counts[i]);
    }
    for (const auto& [resource, amount] : assigned.resource_usage) {
      const auto flavor = assigned.flavors.find(resource);
      if (flavor == assigned.flavors.end()) continue;
      const FlavorResourceId fr =
          state_.FlavorResourceNumber(state_.vocabulary().flavors.Intern(flavor->second),
                                      state_.vocabulary().resources.Intern(resource));
      const Amount used =
          count < assigned.count && assigned.count > 0 ? amount / assigned.count * count : amount;
      const auto known = std::find_if(usage.begin(), usage.end(), [fr](const auto& item) {
        return item.flavor_resource == fr;
      });
      if (known == usage.end()) {
        usage.push_back({fr, used});
      } else {
        known->amount = api::AddAmounts(known->amount, used);
      }
    }
  }
  return usage;
}

std::unique_ptr<Reservation> Scheduler::NewReservation(WorkloadId id,
                                                       const queue::WorkloadInfo& info,
                                                       WallTime now) {
  auto made = std::make_unique<Reservation>();
  const api::Workload& object = *info.object;
  made->workload = id;
  made->object = info.object;
  made->cluster_queue = queues_.ClusterQueueNumber(object.status.admission->cluster_queue);
  made->usage = UsageOf(object);
  made->priority = info.priority;
  made->queued_at = info.queued_at;
  const api::Condition* reserved =
      api::FindCondition(object.status.conditions, api::kQuotaReserved);
  made->reserved_at = reserved != nullptr && reserved->status == api::ConditionStatus::kTrue
                          ? reserved->last_transition_time
                          : now;
  made->placed = BookingsOf(state_, object);
  made->evicted = api::IsTrue(object.status.conditions, api::kEvicted);
  made->admitted = api::IsTrue(object.status.conditions, api::kAdmitted);
  made->pods_ready = api::IsTrue(object.status.conditions, api::kPodsReady);
  return made;
}

void Scheduler::MakeReserved(WorkloadId id, queue::WorkloadInfo info, WallTime now) {
  queues_.Remove(id);
  std::unique_ptr<Reservation> next = NewReservation(id, info, now);
  const Reservation* held = state_.reservation(id);
  const ClusterQueueId queue = next->cluster_queue;
  const bool admitted = next->admitted;
  bool may_help = false;
  if (held != nullptr && held->cluster_queue == queue) {
    may_help = held->object->status.reclaimable_pods != next->object->status.reclaimable_pods ||
               PriorityChanged(record(id).info, info);
    if (may_help) RequestForNodesOf(*held);
    CountAdmitted(*held, -1);
    CountAdmitted(*next, 1);
    state_.Update(id, [&next](Reservation& changed) { changed = std::move(*next); });
  } else {
    ReleaseQuota(id);
    state_.EnsureQueue(queue);
    CountAdmitted(*next, 1);
    state_.Reserve(std::move(next));
  }
  if (admitted) Settle(record(id), now);
  if (may_help) {
    RequestAround(*info.object);
    if (config_.own_rules.wake_without_local_queue) RequestFor(queue);
  }
  const api::Workload* known = record(id).info.object.get();
  if (known != nullptr && known->meta.generation != info.object->meta.generation) {
    history_.Forget(id);
  }
  record(id).info = std::move(info);
  record(id).scan.reset();
  record(id).plan.reset();
  record(id).phase = Phase::kReserved;
}

const ScanState* Scheduler::CurrentScan(const Record& asked, ClusterQueueId queue) const {
  const ScanState* scan = asked.scan.get();
  if (scan == nullptr) return nullptr;
  if (config_.gates.flavor_fungibility_preserve_scan_progress) {
    if (scan->shape != asked.info.shape) return nullptr;
    if (scan->cycle == cycle_ - 1) return scan;
  }
  return state_.queue(queue).generation > scan->queue_generation ? nullptr : scan;
}

void Scheduler::KeepScan(Record& kept, const Decision& decision) {
  if (decision.outcome == Outcome::kNotNominated) return;
  if (decision.assignment.scan.HasPendingFlavors()) {
    kept.scan = std::make_unique<ScanState>(decision.assignment.scan);
  } else {
    kept.scan.reset();
  }
}

const CycleResult& Scheduler::RunCycle(WallTime now) {
  CycleResult& result = result_;
  result.cycle = ++cycle_;
  result.bulk_parked.clear();
  queues_.TakeHeads(heads_);
  inputs_.clear();
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    if (i + kPrefetchAhead < heads_.size()) {
      Prefetch(&record(heads_[i + kPrefetchAhead].workload), sizeof(Record));
    }
    const queue::Head& head = heads_[i];
    const Record& taken = record(head.workload);
    inputs_.push_back({head, &taken.info, CurrentScan(taken, head.cluster_queue),
                       config_.gates.prioritize_preemptor_workloads && queues_.IsPreemptor(head),
                       taken.plan.get()});
  }
  AddSecondPasses(inputs_, now);
  cycle_runner_.Run(cycle_, inputs_, result.decisions);
  for (std::size_t i = 0; i < result.decisions.size(); ++i) {
    if (i + kPrefetchAhead < result.decisions.size()) {
      const Decision& next = result.decisions[i + kPrefetchAhead];
      Prefetch(&record(next.workload), sizeof(Record));
      if (!next.second_pass) queues_.Expect({next.workload, next.cluster_queue});
    }
    Decision& decision = result.decisions[i];
    if (decision.second_pass) {
      FinishSecondPass(decision, now);
      continue;
    }
    if (decision.outcome == Outcome::kAdmitted || decision.outcome == Outcome::kQuotaReserved) {
      Assume(decision, now);
      continue;
    }
    Record& decided = record(decision.workload);
    KeepScan(decided, decision);
    KeepPlan(decided, decision);
    const bool tried =
        decision.outcome != Outcome::kNotNominated || !config_.own_rules.park_heads_not_tried;
    const auto scan = tried && decided.scan != nullptr ? queue::QueueSet::Scan::kPendingFlavors
                                                       : queue::QueueSet::Scan::kDone;
    queue::QueueSet::RequeueResult put = queues_.Requeue(
        {decision.workload, decision.cluster_queue}, decision.requeue_reason, scan, now);
    decision.to = put.to;
    if (decided.plan != nullptr) queues_.PutFirst({decision.workload, decision.cluster_queue});
    for (const WorkloadId parked : put.bulk_parked) result.bulk_parked.push_back({parked, i});
  }
  return result;
}

void Scheduler::Assume(const Decision& decision, WallTime now) {
  queues_.Remove(decision.workload);
  Record& admitted = record(decision.workload);
  auto made = std::make_unique<Reservation>();
  made->workload = decision.workload;
  made->object = admitted.info.object;
  made->cluster_queue = decision.cluster_queue;
  made->usage = decision.assignment.usage;
  made->placed = BookingsOf(state_, *made->object, decision.assignment);
  made->priority = admitted.info.priority;
  made->queued_at = admitted.info.queued_at;
  made->reserved_at = now;
  made->admitted = decision.outcome == Outcome::kAdmitted;
  CountAdmitted(*made, 1);
  state_.Reserve(std::move(made));
  Penalise(admitted, decision);
  admitted.scan.reset();
  admitted.plan.reset();
  history_.Admitted(decision.workload);
  admitted.phase = Phase::kAssumed;
}

void Scheduler::Unassume(const api::ObjectKey& key, WallTime now) {
  const std::optional<WorkloadId> found = Find(key);
  if (!found) return;
  if (record(*found).phase == Phase::kReserved) {  // new nodes that could not be written
    ApplyWorkload(record(*found).info.object, now);
    return;
  }
  if (record(*found).phase != Phase::kAssumed) return;
  queue::WorkloadInfo info = record(*found).info;
  MakePending(*found, std::move(info), now);
}

Scheduler::WokenWorkloads Scheduler::RunWakeUps(WallTime now) {
  WokenWorkloads woken;
  if (!freed_flavors_.empty()) {
    Request(state_.UsersOf({freed_flavors_.begin(), freed_flavors_.end()}));
    freed_flavors_.clear();
  }
  const std::set<WakeTarget> targets = std::exchange(wake_ups_, {});
  auto* list = config_.listing == queue::Listing::kAll ? &woken.listed : nullptr;
  for (const WakeTarget& target : targets) {
    for (const ClusterQueueId queue : state_.QueuesOf(target)) {
      woken.count += queues_.Wake(queue, now, list);
    }
  }
  return woken;
}

const api::Workload* Scheduler::workload(WorkloadId id) const {
  const auto slot = static_cast<std::size_t>(id);
  return slot < records_.size() ? records_[slot]->info.object.get() : nullptr;
}

std::optional<WorkloadId> Scheduler::Find(const api::ObjectKey& key) const {
  const auto found = numbers_.find(key);
  if (found == numbers_.end()) return std::nullopt;
  return *found;
}

std::string Scheduler::PathOf(ClusterQueueId queue) const {
  std::string path = state_.queue(queue).name;
  const NodeId leaf = state_.queue(queue).node;
  if (leaf == kNoQuotaNode || state_.tree().InCycle(leaf)) return "/" + path;
  for (NodeId node = state_.tree().parent(leaf); node != kNoQuotaNode;
       node = state_.tree().parent(node)) {
    path = state_.CohortName(node) + "/" + path;
  }
  return "/" + path;
}

}  // namespace berth::admission

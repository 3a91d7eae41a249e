#include "admission/scheduler.h"

#include <algorithm>
#include <utility>

#include "admission/flavors/flavor_topology.h"
#include "admission/workloads/workload_slices.h"
#include "api/condition.h"
#include "api/last_run.h"
#include "api/provisioning_labels.h"
#include "api/reasons.h"
#include "base/prefetch.h"

namespace berth::admission {
namespace {

bool HoldsQuota(const api::Workload& object, const OwnRules& rules) {
  return api::IsTrue(object.status.conditions, api::kQuotaReserved) && object.status.admission &&
         !api::IsTrue(object.status.conditions, api::kFinished) &&
         (object.spec.active || rules.hold_until_stopped);
}

// Whether other workloads may be able to preempt it now, or not any more. Kueue (PriorityChanged)
// considers only those values of spec.priority that come from WorkloadPriorityClasses.
bool PriorityChanged(const queue::WorkloadInfo& before, const queue::WorkloadInfo& after) {
  const bool boosted = before.object->spec.priority == after.object->spec.priority &&
                       before.priority != after.priority;
  if (boosted) return true;
  const auto& old_class = before.object->spec.priority_class_ref;
  const auto& new_class = after.object->spec.priority_class_ref;
  if (!new_class || new_class->kind != "WorkloadPriorityClass") return false;
  if (old_class && old_class->kind != "WorkloadPriorityClass") return false;
  return before.priority != after.priority || !old_class || old_class->name != new_class->name;
}

bool IsFinished(const queue::WorkloadInfo& info) {
  return info.object != nullptr && api::IsTrue(info.object->status.conditions, api::kFinished);
}

// Whether an elastic job was scaled down.
bool NeedsFewerPods(const queue::WorkloadInfo& before, const queue::WorkloadInfo& after) {
  for (std::size_t i = 0; i < after.pod_sets.size() && i < before.pod_sets.size(); ++i) {
    if (after.pod_sets[i].count < before.pod_sets[i].count) return true;
  }
  return false;
}

// Whether some amount of `before` is larger than in `after`.
bool GivesBack(const Usage& before, const Usage& after) {
  return std::any_of(before.begin(), before.end(), [&after](const FlavorResourceAmount& held) {
    return std::none_of(after.begin(), after.end(), [&held](const FlavorResourceAmount& kept) {
      return kept.flavor_resource == held.flavor_resource && kept.amount >= held.amount;
    });
  });
}

bool SamePods(const api::Workload& a, const api::Workload& b) {
  return std::equal(a.spec.pod_sets.begin(), a.spec.pod_sets.end(), b.spec.pod_sets.begin(),
                    b.spec.pod_sets.end(), [](const api::PodSet& left, const api::PodSet& right) {
                      return left.pod_template.spec == right.pod_template.spec;
                    });
}

}  // namespace

Scheduler::Scheduler(const SchedulerConfig& config)
    : config_(config),
      queues_(
          config.gates.scheduling_equivalence_hashing, config.listing,
          config.admission_fair_sharing ? queue::UsageOrder::kCounts : queue::UsageOrder::kIgnored),
      state_(queues_),
      search_(state_, config_.gates, config_.fair_sharing),
      owners_(config.own_rules.preemptor_keeps_what_it_freed ? config.managed_owners
                                                             : std::nullopt),
      records_(state_.vocabulary().resources),
      wakes_(state_, queues_, config_.own_rules),
      due_trees_(state_, queues_),
      scans_(state_, config_.gates, config_.own_rules),
      plans_({state_, config_.own_rules, config_.plan_timeout, history_, wakes_}),
      kept_plans_({state_, config_.own_rules, config_.plan_timeout, queues_, records_, plans_}),
      kept_places_({state_, queues_, records_, config_.gates, past_.waits,
                    config_.fair_sharing.has_value(), config_.ignore_undeclared_resources}),
      slices_(state_, records_, config_.gates.elastic_jobs),
      sharing_(state_, queues_, config_.admission_fair_sharing),
      user_shares_(state_, queues_),
      cycle_runner_({state_, queues_, config_.gates, config_.own_rules, search_, history_,
                     config_.fair_sharing.has_value(), config_.block_admission,
                     config_.ignore_undeclared_resources, kept_places_, victim_rules_, new_victims_,
                     wakes_, records_}) {
  info_options_.ordering.pods_ready_requeuing = config.pods_ready_requeuing;
  info_options_.ordering.priority_sorting_within_cohort =
      config.gates.priority_sorting_within_cohort;
  info_options_.ordering.priority_boost = config.gates.priority_boost;
  if (!config.gates.reclaimable_pods) info_options_.reclaim = queue::ReclaimRule::kIgnored;
  info_options_.equivalence_hashing = config.gates.scheduling_equivalence_hashing;
  info_options_.excluded_resource_prefixes = config.excluded_resource_prefixes;
  info_options_.transformations = config.transformations;
  device_claims_.Use(config.device_classes, config.device_counters);
  for (const auto& [name, resource] : config.device_classes) {
    info_options_.device_resources.push_back(resource);
  }
  for (const auto& [name, counters] : config.device_counters) {
    for (const DeviceCounter& each : counters) {
      info_options_.device_resources.push_back(each.resource);
    }
  }
  state_.placer().SetProfile({config.gates.tas_profile_mixed, config.gates.tas_balanced_placement,
                              config.gates.tas_respect_node_affinity_preferred});
  if (config.count_pending) queues_.counts().SwitchOn(config.pending_values);
  search_.UseLedger(sharing_.ledger());
  search_.UseRules(&victim_rules_);
}

template <>
void Scheduler::Apply(const api::Namespace& object) {
  std::optional<api::StringMap> before;
  const auto known = namespace_labels_.find(object.meta.name);
  if (known != namespace_labels_.end()) before = known->second;
  queues_.namespaces().Set(object.meta.name, object.meta.labels);
  namespace_labels_[object.meta.name] = object.meta.labels;
  if (before == object.meta.labels) return;
  for (const ClusterQueueId queue : queues_.NewlyMatching(before, object.meta.labels)) {
    wakes_.AddTreeOf(queue);
  }
}
template <>
void Scheduler::Forget<api::Namespace>(const std::string& name) {
  queues_.namespaces().Remove(name);
  namespace_labels_.erase(name);
}

template <>
void Scheduler::Apply(const api::ResourceFlavor& object) {
  wakes_.Add(state_.SetFlavor(object));
}
template <>
void Scheduler::Forget<api::ResourceFlavor>(const std::string& name) {
  wakes_.Add(state_.RemoveFlavor(name));
}

template <>
void Scheduler::Apply(const api::AdmissionCheck& object) {
  wakes_.Add(state_.SetCheck(object));
}
template <>
void Scheduler::Forget<api::AdmissionCheck>(const std::string& name) {
  wakes_.Add(state_.RemoveCheck(name));
}

template <>
void Scheduler::Apply(const api::Topology& object) {
  wakes_.Add(state_.SetTopology(object));
}
template <>
void Scheduler::Forget<api::Topology>(const std::string& name) {
  wakes_.Add(state_.RemoveTopology(name));
}

template <>
void Scheduler::Apply(const api::Cohort& object) {
  const std::optional<WakeTarget> before = TreeOfCohort(state_, object.meta.name);
  const ClusterState::CohortChange change = state_.SetCohort(object);
  wakes_.Add(change.wakes);
  if (change.changed) history_.Clear();  // other queues may preempt
  ApplyPolicies(policies_.Set(object));
  wakes_.AddLeft(before, TreeOfCohort(state_, object.meta.name));
}
template <>
void Scheduler::Forget<api::Cohort>(const std::string& name) {
  const std::optional<WakeTarget> before = TreeOfCohort(state_, name);
  const ClusterState::CohortChange change = state_.RemoveCohort(name);
  ApplyPolicies(policies_.RemoveCohort(name));
  wakes_.Add(change.wakes);
  if (change.changed) history_.Clear();
  const std::optional<WakeTarget> after = TreeOfCohort(state_, name);
  wakes_.AddLeft(before, after);
  wakes_.AddLeft(after, before);  // what it lent to the tree that it left is free again
}

template <>
void Scheduler::Apply(const api::ClusterQueue& object) {
  const std::optional<ClusterQueueId> known = state_.cluster_queues().Find(object.meta.name);
  const std::optional<WakeTarget> before = known ? TreeOf(state_, *known) : std::nullopt;
  const Wakes wakes = state_.SetClusterQueue(object);
  if (!wakes.empty()) history_.Clear();  // its new preemption policy may allow other victims
  wakes_.Add(wakes);
  if (known) wakes_.AddLeft(before, TreeOf(state_, *known));
  ApplyPolicies(policies_.Set(object));
  if (known) user_shares_.Recount(*known);
}
template <>
void Scheduler::Forget<api::ClusterQueue>(const std::string& name) {
  if (const auto known = state_.cluster_queues().Find(name)) {
    history_.Clear();
    SetPolicy(*known, {});
  }
  policies_.RemoveClusterQueue(name);
  wakes_.Add(state_.RemoveClusterQueue(name));
}

template <>
void Scheduler::Apply(const api::LocalQueue& object) {
  if (object.stop_policy != api::StopPolicy::kNone) ForgetScans(object.meta.key());
  queues_.SetLocalQueue(object.meta.key(), object.cluster_queue, object.stop_policy);
  sharing_.Apply(object);
}
template <>
void Scheduler::Forget<api::LocalQueue>(const api::ObjectKey& key) {
  ForgetScans(key);
  queues_.RemoveLocalQueue(key);
  sharing_.Forget(key);
}

template <>
void Scheduler::Apply(const api::Node& object) {
  const Wakes wakes = state_.UsersOf(state_.placer().SetNode(object));
  // The node is new, repaired or changed: preemptions that were in vain may succeed now.
  if (!wakes.empty() && CountsForPlacement(object)) history_.Clear();
  wakes_.Add(wakes);
}
template <>
void Scheduler::Forget<api::Node>(const std::string& name) {
  wakes_.Add(state_.UsersOf(state_.placer().RemoveNode(name)));
}

template <>
void Scheduler::Apply(const api::Pod& object) {
  wakes_.Add(state_.UsersOf(state_.placer().SetPod(object)));
}
template <>
void Scheduler::Forget<api::Pod>(const api::ObjectKey& key) {
  wakes_.Add(state_.UsersOf(state_.placer().RemovePod(key)));
}

void Scheduler::ApplyPolicies(const std::vector<std::string>& cluster_queues) {
  for (const std::string& name : cluster_queues) {
    const ClusterQueueId queue = queues_.ClusterQueueNumber(name);
    SetPolicy(queue, policies_.Of(name));
    wakes_.AddTreeOf(queue);
  }
  if (past_.state == QueuePast::State::kIgnored && policies_.any()) {
    past_.state = QueuePast::State::kToBeRead;
  }
}

void Scheduler::SetPolicy(ClusterQueueId queue, const api::QueuePolicy& policy) {
  queues_.places().SetRules(queue, {policy.order.value_or(api::QueueOrder::kFifo),
                                    policy.least_slack.value_or(Duration::zero())});
  kept_places_.SetRule(queue, policy.reserve_after.value_or(api::ReserveAfter{}),
                       policy.reserve_count.value_or(1));
  victim_rules_.Set(queue, policy);
  user_shares_.Set(queue, policy.order == api::QueueOrder::kFairByUser);
}

// The workloads leave their queue; requeued ones start a new scan.
void Scheduler::ForgetScans(const api::ObjectKey& local_queue) {
  for (const WorkloadId id : queues_.local_queues().MembersOf(local_queue)) record(id).scan.reset();
}

std::shared_ptr<const api::Workload> Scheduler::Completed(
    std::shared_ptr<const api::Workload> object) const {
  return device_claims_.Counted(pod_defaults_.Completed(std::move(object)));
}

void Scheduler::Reconsider(const std::shared_ptr<const api::Workload>& object, WallTime now) {
  const std::optional<WorkloadId> id = records_.Find(object->meta.key());
  if (!id) return;  // forgotten by the caller, who applies it again
  const Phase phase = record(*id).phase;
  if (phase == Phase::kAssumed || phase == Phase::kReserved) return;
  const std::shared_ptr<const api::Workload> completed = Completed(object);
  const bool queued = queue::BelongsInQueue(*completed) && !api::ClaimsDevices(*completed);
  const bool refused = queued && !pod_defaults_.Problem(*completed).empty();
  // No change for the workload: its plan and its note stay.
  if (queued == (phase == Phase::kPending) && refused == (refused_.count(*id) > 0) &&
      SamePods(*record(*id).info.object, *completed)) {
    return;
  }
  Forget<api::Workload>(object->meta.key());
  ApplyWorkload(object, now);
}

bool Scheduler::IsRefused(const api::ObjectKey& key) const {
  const std::optional<WorkloadId> id = records_.Find(key);
  return id && refused_.count(*id) > 0;
}

std::string Scheduler::PodProblem(const api::Workload& object) const {
  const std::shared_ptr<const api::Workload> not_owned(std::shared_ptr<const void>(), &object);
  std::string problem = device_claims_.Problem(object);
  return problem.empty() ? pod_defaults_.Problem(*pod_defaults_.Completed(not_owned)) : problem;
}

void Scheduler::ApplyWorkload(std::shared_ptr<const api::Workload> object, WallTime now) {
  object = Completed(std::move(object));
  const std::optional<WorkloadId> known = records_.Find(object->meta.key());
  const WorkloadId id = known ? *known : records_.New();
  const bool holds_quota = HoldsQuota(*object, config_.own_rules);
  const bool lacks_nodes =
      config_.gates.topology_aware_scheduling && holds_quota && NeedsSecondPass(*object);
  // Claims that cannot be counted keep the workload out of its queue.
  const bool belongs = queue::BelongsInQueue(*object) && !api::ClaimsDevices(*object);
  // The written object of an assumed workload may arrive later; an older one must not undo it.
  if (record(id).phase == Phase::kAssumed && belongs) return;
  queue::WorkloadInfo info;
  if (holds_quota || belongs || policies_.any()) {
    info =
        queue::BuildWorkloadInfo(std::move(object), info_options_, state_.vocabulary().resources);
  } else {
    info.object = std::move(object);  // nobody asks what it requests
  }
  if (policies_.any()) EstimateRun(info);
  bool refused = false;
  if (holds_quota) {
    MakeReserved(id, std::move(info), now);
  } else if (belongs) {
    refused = !pod_defaults_.Problem(*info.object).empty();
    MakePending(id, std::move(info), now);
  } else {
    MakeOutside(id, std::move(info));
  }
  if (refused) {
    refused_.insert(id);
  } else {
    refused_.erase(id);
  }
  if (!known) records_.Register(id);
  if (lacks_nodes) {
    second_passes_.Add(id, now);
  } else {
    second_passes_.Remove(id);
  }
}

template <>
void Scheduler::Forget<api::Workload>(const api::ObjectKey& key) {
  const std::optional<WorkloadId> known = records_.Unregister(key);
  if (!known) return;
  MakeOutside(*known, queue::WorkloadInfo{});
  refused_.erase(*known);
  records_.Free(*known);
  second_passes_.Remove(*known);
}

void Scheduler::CountUsage(const Reservation& reservation, int sign) {
  sharing_.Count(reservation, sign);
  user_shares_.Count(reservation, sign);
}

void Scheduler::ReleaseQuota(WorkloadId id) {
  const Reservation* held = state_.reservation(id);
  if (held == nullptr) return;
  wakes_.AddUsersOfNodes(*held);
  const ClusterQueueId queue = held->cluster_queue;
  const std::shared_ptr<const api::Workload> object = held->object;
  CountUsage(*held, -1);
  due_trees_.Note(queue);
  state_.Release(id);
  Recharge(slices_.Remove(id, *object));
  wakes_.AddAround(*object);
  if (config_.own_rules.wake_without_local_queue) wakes_.AddTreeOf(queue);
}

void Scheduler::EstimateRun(queue::WorkloadInfo& info) const {
  const api::Workload& object = *info.object;
  const queue::ClusterQueueId queue =
      queues_.local_queues()
          .RouteOf({object.meta.namespace_name, object.spec.queue_name})
          .value_or(-1);
  const RunEstimates::Kind kind = RunEstimates::KindOf(queue, info);
  info.run_group = kind.group;
  info.expected_run_seconds = past_.runs.SecondsOf(kind).value_or(queue::kUnknownRunSeconds);
  if (kind.declared == 0) info.run_seconds = info.expected_run_seconds;
}

void Scheduler::NoteEnd(WorkloadId id, const queue::WorkloadInfo& info) {
  if (!IsFinished(info)) return;
  if (IsFinished(record(id).info)) return;  // is noted
  restart_costs_.NoteEnd(*info.object);
  const std::optional<EndedRun> run = RunOf(info);
  if (!run) return;
  new_victims_.NoteRun(run->queue, run->ran);
  if (past_.state == QueuePast::State::kKept) AddRun(*run, info);
}

std::optional<Scheduler::EndedRun> Scheduler::RunOf(const queue::WorkloadInfo& finished) {
  const auto& admission = finished.object->status.admission;
  const std::optional<Duration> ran = api::LastRunOf(*finished.object);
  if (!ran || !admission) return std::nullopt;
  return EndedRun{queues_.ClusterQueueNumber(admission->cluster_queue), *ran};
}

void Scheduler::AddRun(const EndedRun& run, const queue::WorkloadInfo& info) {
  past_.runs.Add(RunEstimates::KindOf(run.queue, info),
                 std::chrono::floor<std::chrono::seconds>(run.ran).count());
}

// Runs that have ended tell more about workloads that wait.
void Scheduler::EstimateRunsAgain() {
  for (const WorkloadId id : past_.runs.TakeChanged()) {
    queue::WorkloadInfo& info = record(id).info;
    EstimateRun(info);
    queues_.places().SetExpectedRun(id, info.expected_run_seconds);
  }
}

void Scheduler::StopEstimating(WorkloadId id) {
  const std::uint64_t group = record(id).info.run_group;
  if (group != 0) past_.runs.Leave(group, id);
}

void Scheduler::StopWaiting(WorkloadId id) {
  if (record(id).info.object != nullptr) due_trees_.NoteQueueOf(*record(id).info.object);
  queues_.Remove(id);
  StopEstimating(id);
  new_victims_.Forget(id);
}

// The wait until the first admission; unknown if the workload was evicted.
void Scheduler::AddWait(ClusterQueueId queue, const queue::WorkloadInfo& finished) {
  const auto& conditions = finished.object->status.conditions;
  const api::Condition* reserved = api::FindCondition(conditions, api::kQuotaReserved);
  if (reserved == nullptr || reserved->status != api::ConditionStatus::kTrue) return;
  if (api::FindCondition(conditions, api::kEvicted) != nullptr) return;
  past_.waits.Add(queue, reserved->last_transition_time - finished.object->meta.creation_timestamp,
                  finished.run_seconds);
}

// Reads the finished workloads in the order of their ends; then the waiting ones get estimates.
void Scheduler::ReadPast(WallTime now) {
  std::vector<std::pair<WallTime, WorkloadId>> finished;
  std::vector<WorkloadId> waiting;
  for (WorkloadId id = 0; id < static_cast<WorkloadId>(records_.size()); ++id) {
    const Record& known = record(id);
    if (known.phase == Phase::kPending) waiting.push_back(id);
    if (!IsFinished(known.info)) continue;
    const auto& conditions = known.info.object->status.conditions;
    finished.emplace_back(api::FindCondition(conditions, api::kFinished)->last_transition_time, id);
  }
  std::sort(finished.begin(), finished.end());
  for (const auto& [end, id] : finished) {
    queue::WorkloadInfo info = queue::BuildWorkloadInfo(record(id).info.object, info_options_,
                                                        state_.vocabulary().resources);
    const auto run = RunOf(info);
    if (!run) continue;
    EstimateRun(info);
    AddWait(run->queue, info);
    AddRun(*run, info);
  }
  for (const WorkloadId id : waiting) {
    queue::WorkloadInfo info = record(id).info;
    EstimateRun(info);
    MakePending(id, std::move(info), now);
  }
}

void Scheduler::MakeOutside(WorkloadId id, queue::WorkloadInfo info) {
  NoteEnd(id, info);
  // A workload that goes, even a waiting one, wakes its queue's tree, as in Kueue.
  if (record(id).info.object != nullptr) wakes_.AddAround(*record(id).info.object);
  StopWaiting(id);
  sharing_.TakePenaltyBack(record(id));
  if (state_.reservation(id) != nullptr) history_.Departed();
  ReleaseQuota(id);
  records_.SetInfo(id, std::move(info));
  record(id).scan.reset();
  PreemptionPlans::Forget(record(id));
  history_.Forget(id);
  record(id).phase = Phase::kOutside;
}

void Scheduler::MakePending(WorkloadId id, queue::WorkloadInfo info, WallTime now) {
  sharing_.TakePenaltyBack(record(id));
  ReleaseQuota(id);
  Record& known = record(id);
  const bool was_pending = known.phase == Phase::kPending;
  const bool was_waiting = was_pending || known.phase == Phase::kAssumed;
  queues_.Upsert(id, was_pending ? &known.info : nullptr, info, now);
  if (!was_pending || !config_.gates.flavor_fungibility_preserve_scan_progress) known.scan.reset();
  const bool was_changed = known.info.object != nullptr &&
                           known.info.object->meta.generation != info.object->meta.generation;
  if (!was_waiting || was_changed) {
    if (known.plan != nullptr) wakes_.AddAround(*info.object);  // the plan's quota is free
    PreemptionPlans::Forget(known);
  }
  if (was_changed) history_.Forget(id);
  if (known.info.run_group != info.run_group) StopEstimating(id);
  if (was_pending) due_trees_.NoteQueueOf(*known.info.object);  // the workload may leave the queue
  records_.SetInfo(id, std::move(info));
  if (known.info.run_group != 0) past_.runs.Await(known.info.run_group, id);
  known.phase = Phase::kPending;
  due_trees_.NoteQueueOf(*known.info.object);
}

Usage Scheduler::UsageOf(const api::Workload& object) {
  Usage usage;
  ForEachCharge(object, info_options_.reclaim,
                [&](const api::PodSetAssignment&, const std::string& resource,
                    const std::string& flavor, Amount used) {
                  const FlavorResourceId fr = state_.vocabulary().flavor_resources.Number(
                      state_.vocabulary().flavors.Intern(flavor),
                      state_.vocabulary().resources.Intern(resource));
                  AddTo(usage, fr, used);
                });
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
  const bool replaced = slices_.IsReplaced(object, made->cluster_queue);
  if (!replaced) made->usage = UsageOf(object);
  made->priority = info.priority;
  made->queued_at = info.queued_at;
  const api::Condition* reserved =
      api::FindCondition(object.status.conditions, api::kQuotaReserved);
  made->reserved_at = reserved != nullptr && reserved->status == api::ConditionStatus::kTrue
                          ? reserved->last_transition_time
                          : now;
  if (!replaced) made->placed = BookingsOf(state_, object);
  made->evicted = api::IsTrue(object.status.conditions, api::kEvicted);
  made->admitted = api::IsTrue(object.status.conditions, api::kAdmitted);
  made->pods_ready = api::IsTrue(object.status.conditions, api::kPodsReady) ||
                     object.meta.labels.contains(api::kPrewarmLabel);  // it has no pods
  made->preempted_before = config_.own_rules.spare_the_preempted &&
                           api::FindCondition(object.status.conditions, api::kPreempted) != nullptr;
  made->foreign_owner = owners_.IsForeign(object);
  made->run_kind = RestartCosts::KindOf(object);
  return made;
}

void Scheduler::MakeReserved(WorkloadId id, queue::WorkloadInfo info, WallTime now) {
  StopWaiting(id);
  std::unique_ptr<Reservation> next = NewReservation(id, info, now);
  const Reservation* held = state_.reservation(id);
  const ClusterQueueId queue = next->cluster_queue;
  const bool admitted = next->admitted;
  bool may_help = false;
  if (held != nullptr && held->cluster_queue == queue) {
    may_help = held->object->status.reclaimable_pods != next->object->status.reclaimable_pods ||
               NeedsFewerPods(record(id).info, info) || PriorityChanged(record(id).info, info) ||
               GivesBack(held->usage, next->usage) || (held->foreign_owner && !next->foreign_owner);
    if (may_help || LeavesNodes(held->placed, next->placed)) wakes_.AddUsersOfNodes(*held);
    CountUsage(*held, -1);
    CountUsage(*next, 1);
    state_.Update(id, [&next](Reservation& changed) { changed = std::move(*next); });
  } else {
    ReleaseQuota(id);
    state_.EnsureQueue(queue);
    CountUsage(*next, 1);
    state_.Reserve(std::move(next));
  }
  due_trees_.Note(queue);
  if (admitted) {
    sharing_.Settle(record(id), now);
    victim_rules_.NoteAdmission(*state_.reservation(id));
  }
  if (may_help) {
    wakes_.AddAround(*info.object);
    if (config_.own_rules.wake_without_local_queue) wakes_.AddTreeOf(queue);
  }
  const api::Workload* known = record(id).info.object.get();
  if (known != nullptr && known->meta.generation != info.object->meta.generation) {
    history_.Forget(id);
  }
  records_.SetInfo(id, std::move(info));
  record(id).scan.reset();
  PreemptionPlans::Forget(record(id));
  record(id).phase = Phase::kReserved;
  Recharge(slices_.Add(id));
}

void Scheduler::Assume(const Decision& decision, WallTime now) {
  StopWaiting(decision.workload);
  Record& admitted = record(decision.workload);
  auto made = std::make_unique<Reservation>();
  made->workload = decision.workload;
  made->object = admitted.info.object;
  made->cluster_queue = decision.cluster_queue;
  made->usage =
      decision.replaces == nullptr ? decision.assignment.usage : WholeUsageOf(decision.assignment);
  made->placed = BookingsOf(state_, *made->object, decision.assignment);
  made->priority = admitted.info.priority;
  made->queued_at = admitted.info.queued_at;
  made->reserved_at = now;
  made->admitted = decision.outcome == Outcome::kAdmitted;
  made->foreign_owner = owners_.IsForeign(*made->object);
  made->run_kind = RestartCosts::KindOf(*made->object);
  CountUsage(*made, 1);
  due_trees_.Note(decision.cluster_queue);
  state_.Reserve(std::move(made));
  if (past_.state == QueuePast::State::kKept) {
    past_.waits.Add(decision.cluster_queue, now - admitted.info.queued_at,
                    admitted.info.run_seconds);
  }
  Recharge(slices_.Add(decision.workload));
  sharing_.Penalise(admitted, decision);
  admitted.scan.reset();  // the plan ends when the admission is written
  history_.Admitted(decision.workload);
  admitted.phase = Phase::kAssumed;
}

void Scheduler::Unassume(const api::ObjectKey& key, WallTime now) {
  const std::optional<WorkloadId> found = records_.Find(key);
  if (!found) return;
  if (record(*found).phase == Phase::kReserved) {  // new nodes were not written
    ApplyWorkload(record(*found).info.object, now);
    return;
  }
  if (record(*found).phase != Phase::kAssumed) return;
  queue::WorkloadInfo info = record(*found).info;
  const auto queue = queues_.local_queues().RouteOf(
      {info.object->meta.namespace_name, info.object->spec.queue_name});
  MakePending(*found, std::move(info), now);
  if (record(*found).plan != nullptr && queue) queues_.preemptor(*queue).Restore(*found);
}

void Scheduler::Recharge(const std::optional<api::ObjectKey>& slice) {
  const std::optional<WorkloadId> id = slice ? records_.Find(*slice) : std::nullopt;
  if (!id || record(*id).phase != Phase::kReserved) return;
  const Reservation* held = state_.reservation(*id);
  std::unique_ptr<Reservation> next = NewReservation(*id, record(*id).info, held->reserved_at);
  if (next->cluster_queue != held->cluster_queue) return;
  CountUsage(*held, -1);
  CountUsage(*next, 1);
  due_trees_.Note(next->cluster_queue);
  state_.Update(*id, [&next](Reservation& changed) { changed = std::move(*next); });
}

void Scheduler::ManageOwner(const OwnerKind& kind, bool managed) {
  if (!owners_.Set(kind, managed)) return;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const auto id = static_cast<WorkloadId>(i);
    const Reservation* held = state_.reservation(id);
    if (held == nullptr) continue;
    const bool foreign = owners_.IsForeign(*held->object);
    if (foreign == held->foreign_owner) continue;
    const ClusterQueueId queue = held->cluster_queue;
    state_.Update(id, [foreign](Reservation& changed) { changed.foreign_owner = foreign; });
    due_trees_.Note(queue);
    wakes_.AddTreeOf(queue);
  }
}

void Scheduler::AddSecondPasses(WallTime now) {
  for (const WorkloadId id : second_passes_.Due(now)) {
    const Reservation* reserved = state_.reservation(id);
    if (reserved == nullptr) continue;
    HeadInput head;
    head.head = {id, reserved->cluster_queue};
    head.workload = &record(id).info;
    head.reserved = reserved;
    inputs_.push_back(head);
  }
}

void Scheduler::FinishSecondPass(const Decision& decision, WallTime now) {
  const WorkloadId id = decision.workload;
  if (GivesQuota(decision)) {
    std::vector<PlacedPods> placed = BookingsOf(state_, *decision.object, decision.assignment);
    const Reservation& before = *state_.reservation(id);
    if (LeavesNodes(before.placed, placed)) wakes_.AddUsersOfNodes(before);
    state_.Update(id, [&placed](Reservation& held) { held.placed = std::move(placed); });
  }
  if (decision.outcome == Outcome::kAdmitted || decision.outcome == Outcome::kEvictForNodeFailure) {
    second_passes_.Remove(id);  // the written object adds it again
    return;
  }
  second_passes_.PutOff(id, now);
}

// Heads that the API would refuse go back at once: they stay the heads of StrictFIFO queues, as in
// Kueue. The workload reconciler writes the reason.
void Scheduler::TakeInputs(CycleResult& result, Heads which, WallTime now) {
  if (which == Heads::kAll || config_.block_admission || !due_trees_.AreApart()) {
    queues_.TakeHeads(heads_);
  } else {
    queues_.TakeHeads(heads_, [this](ClusterQueueId queue) { return due_trees_.Has(queue); });
  }
  due_trees_.Clear();
  inputs_.clear();
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    if (i + kPrefetchAhead < heads_.size()) {
      Prefetch(&record(heads_[i + kPrefetchAhead].workload), sizeof(Record));
    }
    const queue::Head& head = heads_[i];
    if (refused_.count(head.workload) > 0) {
      const auto requeued =
          queues_.Requeue(head, queue::RequeueReason::kGeneric, queue::QueueSet::Scan::kDone, now);
      if (requeued.to == queue::Destination::kInadmissible) {
        ++result.refused_parked;
        due_trees_.Note(head.cluster_queue);
      }
      continue;
    }
    Record& taken = record(head.workload);
    if (taken.plan != nullptr) plans_.EndWithoutProgress(taken, head.cluster_queue, now);
    inputs_.push_back({head, &taken.info, scans_.Current(taken, head.cluster_queue, cycle_),
                       config_.gates.prioritize_preemptor_workloads &&
                           queues_.preemptor(head.cluster_queue).Is(head.workload),
                       taken.plan.get()});
    inputs_.back().replaces = slices_.ReplacedBy(*taken.info.object, head.cluster_queue);
  }
}

std::optional<WallTime> Scheduler::NextTurn() const {
  const std::optional<WallTime> pass = second_passes_.Next();
  const std::optional<WallTime> look = victim_rules_.Next();
  return pass && (!look || *pass < *look) ? pass : look;
}

void Scheduler::WakeDue(WallTime now) {
  for (const ClusterQueueId queue : victim_rules_.TakeDue(now)) {
    queues_.Wake(queue, now, nullptr);
    due_trees_.Note(queue);
  }
}

const CycleResult& Scheduler::RunCycle(WallTime now, Heads heads) {
  CycleResult& result = result_;
  result.cycle = ++cycle_;
  result.bulk_parked.clear();
  result.refused_parked = 0;
  if (past_.state == QueuePast::State::kToBeRead) {
    ReadPast(now);
    past_.state = QueuePast::State::kKept;
  }
  EstimateRunsAgain();
  kept_places_.Refresh(now);
  victim_rules_.Begin(now);
  WakeDue(now);
  TakeInputs(result, heads, now);
  AddSecondPasses(now);
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
    } else if (GivesQuota(decision)) {
      // What its place held back may start.
      if (kept_places_.Has(decision.workload)) wakes_.AddTreeOf(decision.cluster_queue);
      Assume(decision, now);
    } else {
      Requeue(decision, i, result, now);
      if (!WaitsForOthers(decision, record(decision.workload))) {
        due_trees_.Note(decision.cluster_queue);
      }
    }
  }
  return result;
}

// The decision at `index` of the result gave no quota.
void Scheduler::Requeue(Decision& decision, std::size_t index, CycleResult& result, WallTime now) {
  Record& decided = record(decision.workload);
  const bool begins_again = scans_.HasMissedChanges(decided, decision);
  scans_.Keep(decided, decision);
  plans_.Keep(decided, decision, now);
  const bool tried =
      decision.outcome != Outcome::kNotNominated || !config_.own_rules.park_heads_not_tried;
  const auto scan = tried && (decided.scan != nullptr || begins_again)
                        ? queue::QueueSet::Scan::kPendingFlavors
                        : queue::QueueSet::Scan::kDone;
  queue::QueueSet::RequeueResult put = queues_.Requeue({decision.workload, decision.cluster_queue},
                                                       decision.requeue_reason, scan, now);
  decision.to = put.to;
  if (decided.plan != nullptr)
    queues_.preemptor(decision.cluster_queue).PutFirst(decision.workload);
  for (const WorkloadId parked : put.bulk_parked) result.bulk_parked.push_back({parked, index});
}

Scheduler::WokenWorkloads Scheduler::RunWakeUps(WallTime now, std::int64_t from) {
  WakeDue(now);
  WokenWorkloads woken;
  auto* list = config_.listing == queue::Listing::kAll ? &woken.listed : nullptr;
  const bool all = from == queue::kEveryPriority;
  for (const WakeTarget& target : all ? wakes_.TakeAll() : wakes_.TakeNew()) {
    std::vector<ClusterQueueId> queues = QueuesOf(state_, target);
    if (list != nullptr) queue::SortByName(queues_.cluster_queue_names(), queues);
    for (const ClusterQueueId queue : queues) {
      const std::int64_t count = queues_.Wake(queue, now, list, from);
      if (count > 0) due_trees_.Note(queue);
      woken.count += count;
    }
  }
  return woken;
}

}  // namespace berth::admission

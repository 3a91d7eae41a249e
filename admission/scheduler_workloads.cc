// The phases of a workload in the Scheduler: outside, pending, assumed, reserved; its usage in
// each, and the wake-ups when it leaves one.
#include <algorithm>
#include <utility>

#include "admission/scheduler.h"
#include "admission/workload_slices.h"
#include "api/condition.h"
#include "api/provisioning_labels.h"
#include "api/reasons.h"

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

}  // namespace

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

// Tenants write the names of resources: a name keeps its number while a workload requests it.
void Scheduler::SetInfo(WorkloadId id, queue::WorkloadInfo info) {
  queue::Names& resources = state_.vocabulary().resources;
  for (const queue::PodSetInfo& pod_set : info.pod_sets) {
    for (const ResourceRequest& request : pod_set.per_pod) resources.Hold(request.resource);
  }
  for (const queue::PodSetInfo& pod_set : record(id).info.pod_sets) {
    for (const ResourceRequest& request : pod_set.per_pod) resources.Drop(request.resource);
  }
  record(id).info = std::move(info);
}

void Scheduler::ApplyWorkload(std::shared_ptr<const api::Workload> object, WallTime now) {
  object = Completed(std::move(object));
  const std::optional<WorkloadId> known = Find(object->meta.key());
  const WorkloadId id = known ? *known : NewNumber();
  const bool holds_quota = HoldsQuota(*object, config_.own_rules);
  const bool lacks_nodes =
      config_.gates.topology_aware_scheduling && holds_quota && NeedsSecondPass(*object);
  // Claims that cannot be counted keep the workload out of its queue.
  const bool belongs = queue::BelongsInQueue(*object) && !api::ClaimsDevices(*object);
  // The written object of an assumed workload may arrive later; an older one must not undo it.
  if (record(id).phase == Phase::kAssumed && belongs) return;
  queue::WorkloadInfo info =
      queue::BuildWorkloadInfo(std::move(object), info_options_, state_.vocabulary().resources);
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
  numbers_.erase(found);  // before the record loses its object
  MakeOutside(id, queue::WorkloadInfo{});
  refused_.erase(id);
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
  for (const FlavorId flavor : state_.placer().FlavorsAt(held.placed)) {
    freed_flavors_.insert(flavor);
  }
}

void Scheduler::ReleaseQuota(WorkloadId id) {
  const Reservation* held = state_.reservation(id);
  if (held == nullptr) return;
  RequestForNodesOf(*held);
  const ClusterQueueId queue = held->cluster_queue;
  const std::shared_ptr<const api::Workload> object = held->object;
  CountAdmitted(*held, -1);
  state_.Release(id);
  GiveUpSlice(id, *object);
  RequestAround(*object);
  if (config_.own_rules.wake_without_local_queue) RequestFor(queue);
}

void Scheduler::MakeOutside(WorkloadId id, queue::WorkloadInfo info) {
  // A workload that goes, even a waiting one, wakes its queue's tree, as in Kueue.
  if (record(id).info.object != nullptr) RequestAround(*record(id).info.object);
  queues_.Remove(id);
  TakePenaltyBack(record(id));
  if (state_.reservation(id) != nullptr) history_.Departed();
  ReleaseQuota(id);
  SetInfo(id, std::move(info));
  record(id).scan.reset();
  ForgetPlan(record(id));
  history_.Forget(id);
  record(id).phase = Phase::kOutside;
}

void Scheduler::MakePending(WorkloadId id, queue::WorkloadInfo info, WallTime now) {
  TakePenaltyBack(record(id));
  ReleaseQuota(id);
  Record& known = record(id);
  const bool was_pending = known.phase == Phase::kPending;
  const bool was_waiting = was_pending || known.phase == Phase::kAssumed;
  queues_.Upsert(id, was_pending ? &known.info : nullptr, info, now);
  if (!was_pending || !config_.gates.flavor_fungibility_preserve_scan_progress) known.scan.reset();
  const bool was_changed = known.info.object != nullptr &&
                           known.info.object->meta.generation != info.object->meta.generation;
  if (!was_waiting || was_changed) {
    if (known.plan != nullptr) RequestAround(*info.object);  // the plan's quota is free
    ForgetPlan(known);
  }
  if (was_changed) history_.Forget(id);
  SetInfo(id, std::move(info));
  known.phase = Phase::kPending;
}

Usage Scheduler::UsageOf(const api::Workload& object) {
  Usage usage;
  ForEachCharge(object, info_options_.reclaim,
                [&](const api::PodSetAssignment&, const std::string& resource,
                    const std::string& flavor, Amount used) {
                  const FlavorResourceId fr =
                      state_.FlavorResourceNumber(state_.vocabulary().flavors.Intern(flavor),
                                                  state_.vocabulary().resources.Intern(resource));
                  const auto known =
                      std::find_if(usage.begin(), usage.end(),
                                   [fr](const auto& item) { return item.flavor_resource == fr; });
                  if (known == usage.end()) {
                    usage.push_back({fr, used});
                  } else {
                    known->amount = api::AddAmounts(known->amount, used);
                  }
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
  const bool replaced = IsReplaced(object, made->cluster_queue);
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
  made->foreign_owner = HasForeignOwner(object);
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
               NeedsFewerPods(record(id).info, info) || PriorityChanged(record(id).info, info) ||
               GivesBack(held->usage, next->usage) || (held->foreign_owner && !next->foreign_owner);
    if (may_help || LeavesNodes(held->placed, next->placed)) RequestForNodesOf(*held);
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
  SetInfo(id, std::move(info));
  record(id).scan.reset();
  ForgetPlan(record(id));
  record(id).phase = Phase::kReserved;
  TakeOver(id);
}

void Scheduler::Assume(const Decision& decision, WallTime now) {
  queues_.Remove(decision.workload);
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
  made->foreign_owner = HasForeignOwner(*made->object);
  CountAdmitted(*made, 1);
  state_.Reserve(std::move(made));
  TakeOver(decision.workload);
  Penalise(admitted, decision);
  admitted.scan.reset();  // the plan ends when the admission is written
  history_.Admitted(decision.workload);
  admitted.phase = Phase::kAssumed;
}

void Scheduler::Unassume(const api::ObjectKey& key, WallTime now) {
  const std::optional<WorkloadId> found = Find(key);
  if (!found) return;
  if (record(*found).phase == Phase::kReserved) {  // new nodes were not written
    ApplyWorkload(record(*found).info.object, now);
    return;
  }
  if (record(*found).phase != Phase::kAssumed) return;
  queue::WorkloadInfo info = record(*found).info;
  const auto queue =
      queues_.RouteOf({info.object->meta.namespace_name, info.object->spec.queue_name});
  MakePending(*found, std::move(info), now);
  if (record(*found).plan != nullptr && queue) queues_.RestorePreemptor({*found, *queue});
}

}  // namespace berth::admission

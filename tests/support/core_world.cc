#include "tests/support/core_world.h"

#include <memory>
#include <utility>

#include "admission/lifecycle/workload_lifecycle.h"
#include "admission/messages.h"
#include "api/condition.h"
#include "api/reasons.h"
#include "simulation/carry_out.h"

namespace berth::support {
namespace {

constexpr WallTime kStart{std::chrono::seconds(1'767'225'600)};  // 2026-01-01
constexpr int kMaxRounds = 10;                                   // of reconciling after one change

bool Holds(const api::Workload& workload) {
  return api::IsTrue(workload.status.conditions, api::kQuotaReserved);
}

}  // namespace

CoreWorld::CoreWorld(const admission::SchedulerConfig& config) : scheduler_(config), now_(kStart) {}

void CoreWorld::Apply(const api::Namespace& object) {
  namespaces_[object.meta.name] = object;
  scheduler_.ApplyNamespace(object);
  React();
}

void CoreWorld::Apply(const api::ResourceFlavor& object) {
  flavors_[object.meta.name] = object;
  scheduler_.ApplyResourceFlavor(object);
  React();
}

void CoreWorld::Apply(const api::AdmissionCheck& object) {
  checks_[object.meta.name] = object;
  scheduler_.ApplyAdmissionCheck(object);
  React();
}

void CoreWorld::Apply(const api::Topology& object) {
  scheduler_.ApplyTopology(object);
  React();
}

void CoreWorld::Apply(const api::Node& object) {
  scheduler_.ApplyNode(object);
  React();
}

void CoreWorld::Apply(const api::Cohort& object) {
  cohorts_[object.meta.name] = object;
  scheduler_.ApplyCohort(object);
  React();
}

void CoreWorld::Apply(const api::ClusterQueue& object) {
  cluster_queues_[object.meta.name] = object;
  scheduler_.ApplyClusterQueue(object);
  React();
}

void CoreWorld::Apply(const api::LocalQueue& object) {
  local_queues_[object.meta.key()] = object;
  scheduler_.ApplyLocalQueue(object);
  React();
}

void CoreWorld::Apply(api::Workload object) {
  if (object.meta.generation == 0) object.meta.generation = 1;
  if (object.meta.creation_timestamp == WallTime{}) object.meta.creation_timestamp = Stamp();
  if (object.meta.uid.empty()) object.meta.uid = object.meta.name;
  const api::ObjectKey key = object.meta.key();
  workloads_[key] = std::move(object);
  Store(workloads_[key]);
  React();
}

void CoreWorld::DeleteWorkload(const api::ObjectKey& key) {
  if (workloads_.erase(key) == 0) return;
  scheduler_.ForgetWorkload(key);
  React();
}

void CoreWorld::DeleteLocalQueue(const api::ObjectKey& key) {
  local_queues_.erase(key);
  scheduler_.ForgetLocalQueue(key);
  React();
}

void CoreWorld::DeleteCohort(const std::string& name) {
  cohorts_.erase(name);
  scheduler_.ForgetCohort(name);
  React();
}

void CoreWorld::Finish(const api::ObjectKey& key) {
  const auto found = workloads_.find(key);
  if (found == workloads_.end()) return;
  if (!simulation::Finish(found->second, Stamp())) return;
  Store(found->second);
  React();
}

void CoreWorld::SetPriority(const api::ObjectKey& key, std::int32_t priority) {
  const auto found = workloads_.find(key);
  if (found == workloads_.end() || found->second.spec.priority == priority) return;
  found->second.spec.priority = priority;
  ++found->second.meta.generation;
  Store(found->second);
  React();
}

void CoreWorld::SetActive(const api::ObjectKey& key, bool active) {
  const auto found = workloads_.find(key);
  if (found == workloads_.end() || found->second.spec.active == active) return;
  found->second.spec.active = active;
  ++found->second.meta.generation;
  Store(found->second);
  React();
}

void CoreWorld::Reclaim(const api::ObjectKey& key, const std::string& pod_set, std::int32_t count) {
  const auto found = workloads_.find(key);
  if (found == workloads_.end()) return;
  std::vector<api::ReclaimablePod> reclaimable = {{pod_set, count}};
  if (found->second.status.reclaimable_pods == reclaimable) return;
  found->second.status.reclaimable_pods = std::move(reclaimable);
  Store(found->second);
  React();
}

void CoreWorld::SetCheck(const api::ObjectKey& key, const std::string& check,
                         api::CheckState state) {
  const auto found = workloads_.find(key);
  if (found == workloads_.end()) return;
  bool changed = false;
  for (api::AdmissionCheckState& known : found->second.status.admission_checks) {
    if (known.name != check || known.state == state) continue;
    changed = true;
    known.state = state;
    known.last_transition_time = Stamp();
  }
  if (!changed) return;  // no write, no event
  Store(found->second);
  React();
}

const api::Workload* CoreWorld::Find(const api::ObjectKey& key) const {
  const auto found = workloads_.find(key);
  return found == workloads_.end() ? nullptr : &found->second;
}

std::string CoreWorld::ClusterQueueOf(const api::Workload& workload) const {
  if (workload.status.admission) return workload.status.admission->cluster_queue;
  const auto local = local_queues_.find({workload.meta.namespace_name, workload.spec.queue_name});
  return local == local_queues_.end() ? "" : local->second.cluster_queue;
}

void CoreWorld::Store(const api::Workload& workload) {
  scheduler_.ApplyWorkload(std::make_shared<const api::Workload>(workload), now_);
}

bool CoreWorld::ReactTo(api::Workload& workload) {
  admission::WorkloadSituation situation;
  situation.workload = &workload;
  situation.pods_ready.enabled = false;
  situation.hear_late_answers = scheduler_.config().own_rules.hear_late_answers;
  const auto local = local_queues_.find({workload.meta.namespace_name, workload.spec.queue_name});
  situation.local_queue.name = workload.spec.queue_name;
  if (local != local_queues_.end()) {
    situation.local_queue.exists = true;
    situation.local_queue.stop_policy = local->second.stop_policy;
  }
  const std::string queue_name = ClusterQueueOf(workload);
  situation.cluster_queue.name = queue_name;
  const admission::ClusterState& state = scheduler_.state();
  if (const auto id = state.FindQueue(queue_name)) {
    situation.cluster_queue.exists = true;
    situation.cluster_queue.active = state.queue(*id).active();
    situation.cluster_queue.stop_policy = state.queue(*id).spec.stop_policy;
    std::vector<std::string> flavors;
    if (workload.status.admission) {
      for (const auto& assigned : workload.status.admission->pod_set_assignments) {
        for (const auto& [resource, flavor] : assigned.flavors) flavors.push_back(flavor);
      }
      situation.required_checks = state.RequiredChecks(*id, flavors);
    } else {
      situation.required_checks = state.ChecksBeforeReservation(*id);
    }
  }
  admission::WorkloadPlan plan = admission::PlanWorkload(situation, Stamp());
  if (!plan.status && !plan.deactivate) return false;
  if (plan.status) workload.status = *std::move(plan.status);
  if (plan.deactivate && workload.spec.active) {
    workload.spec.active = false;
    ++workload.meta.generation;
  }
  Store(workload);
  return true;
}

void CoreWorld::React() {
  for (int round = 0; round < kMaxRounds; ++round) {
    bool changed = false;
    for (auto& [key, workload] : workloads_) changed = ReactTo(workload) || changed;
    if (!changed) return;
  }
}

std::vector<api::ObjectKey> CoreWorld::Evicted() const {
  std::vector<api::ObjectKey> keys;
  for (const auto& [key, workload] : workloads_) {
    if (api::IsTrue(workload.status.conditions, api::kEvicted) && Holds(workload) &&
        !api::IsTrue(workload.status.conditions, api::kFinished)) {
      keys.push_back(key);
    }
  }
  return keys;
}

std::string CoreWorld::Release(const api::ObjectKey& key) {
  const auto found = workloads_.find(key);
  if (found == workloads_.end()) return "";
  const api::Condition* evicted =
      api::FindCondition(found->second.status.conditions, api::kEvicted);
  if (evicted == nullptr || evicted->status != api::ConditionStatus::kTrue) return "";
  std::string reason = evicted->reason;
  simulation::Release(found->second, Stamp());
  Store(found->second);
  React();
  return reason;
}

void CoreWorld::PerformOne(const admission::Decision& decision) {
  api::Workload& workload = workloads_.at(decision.object->meta.key());
  if (simulation::GivesQuota(decision)) {
    simulation::Reserve(scheduler_, decision, workload, Stamp());
    Store(workload);
    return;
  }
  if (decision.outcome == admission::Outcome::kPreempting) {
    for (const admission::Victim& victim : decision.victims) {
      if (victim.ongoing) continue;
      api::Workload& stopped = workloads_.at(victim.object->meta.key());
      simulation::Preempt(scheduler_, decision, victim, stopped, Stamp());
      Store(stopped);
    }
  }
  const std::vector<api::Condition> before = workload.status.conditions;
  admission::SetUnadmitted(
      workload.status, admission::PendingReason(decision),
      admission::PendingMessage(decision, scheduler_.vocabulary(),
                                scheduler_.state().queue(decision.cluster_queue).name),
      workload.meta.generation, Stamp());
  if (!(before == workload.status.conditions)) Store(workload);
}

void CoreWorld::Perform(const admission::CycleResult& result) {
  for (const admission::Decision& decision : result.decisions) PerformOne(decision);
  React();
}

void CoreWorld::Replay(admission::Scheduler& scheduler) const {
  for (const auto& [name, object] : namespaces_) scheduler.ApplyNamespace(object);
  for (const auto& [name, object] : flavors_) scheduler.ApplyResourceFlavor(object);
  for (const auto& [name, object] : checks_) scheduler.ApplyAdmissionCheck(object);
  for (const auto& [name, object] : cohorts_) scheduler.ApplyCohort(object);
  for (const auto& [name, object] : cluster_queues_) scheduler.ApplyClusterQueue(object);
  for (const auto& [key, object] : local_queues_) scheduler.ApplyLocalQueue(object);
  for (const auto& [key, object] : workloads_) {
    scheduler.ApplyWorkload(std::make_shared<const api::Workload>(object), now_);
  }
}

}  // namespace berth::support

#include "simulation/control_plane.h"

#include <memory>
#include <utility>

#include "api/condition.h"
#include "api/reasons.h"

namespace berth::simulation {
namespace {

constexpr WallTime kStart{std::chrono::seconds(1'767'225'600)};  // 2026-01-01
constexpr int kMaxRounds = 10;  // rounds of reconciling after one change

admission::DriverOptions WithoutPods(admission::DriverOptions options) {
  options.pods_ready.enabled = false;
  return options;
}

}  // namespace

ControlPlane::ControlPlane(admission::DriverOptions options, std::size_t workloads)
    : driver_(WithoutPods(std::move(options))),
      scheduler_(driver_.scheduler()),
      store_(driver_, workloads),
      now_(kStart) {}

void ControlPlane::Apply(api::Workload object) {
  if (object.meta.generation == 0) object.meta.generation = 1;
  if (object.meta.creation_timestamp == WallTime{}) object.meta.creation_timestamp = Stamp();
  if (object.meta.uid.empty()) object.meta.uid = object.meta.name;
  if (object.meta.owner_references.empty()) {
    api::OwnerReference& owner = object.meta.owner_references.emplace_back();
    owner.api_version = "batch/v1";
    owner.kind = "Job";
    owner.name = object.meta.name;
    owner.uid = "job of " + object.meta.key().ToString();
    owner.controller = true;
  }
  const auto [entry, is_new] = numbers_.try_emplace(object.meta.key(), next_number_);
  if (is_new) ++next_number_;
  store_.Set(entry->second, std::make_shared<const api::Workload>(std::move(object)), now_);
  Reconcile();
}

void ControlPlane::DeleteWorkload(const api::ObjectKey& key) {
  const auto found = numbers_.find(key);
  if (found == numbers_.end()) return;
  store_.Forget(found->second);
  numbers_.erase(found);
  Reconcile();
}

std::optional<std::size_t> ControlPlane::NumberOf(const api::ObjectKey& key) const {
  const auto found = numbers_.find(key);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

const api::Workload* ControlPlane::Find(const api::ObjectKey& key) const {
  const auto number = NumberOf(key);
  return number ? store_.object(*number).get() : nullptr;
}

std::vector<std::pair<const api::ObjectKey&, const api::Workload&>> ControlPlane::workloads()
    const {
  std::vector<std::pair<const api::ObjectKey&, const api::Workload&>> all;
  all.reserve(numbers_.size());
  for (const auto& [key, number] : numbers_) all.emplace_back(key, *store_.object(number));
  return all;
}

void ControlPlane::Settle() {
  store_.Deliver(now_);
  Reconcile();
}

void ControlPlane::Finish(const api::ObjectKey& key) {
  const auto number = NumberOf(key);
  if (!number || api::IsTrue(store_.object(*number)->status.conditions, api::kFinished)) return;
  store_.Finish(*number, Stamp());
  Settle();
}

void ControlPlane::SetPriority(const api::ObjectKey& key, std::int32_t priority) {
  const auto number = NumberOf(key);
  if (!number || store_.object(*number)->spec.priority == priority) return;
  api::Workload& workload = store_.Edit(*number);
  workload.spec.priority = priority;
  ++workload.meta.generation;
  Settle();
}

void ControlPlane::SetActive(const api::ObjectKey& key, bool active) {
  const auto number = NumberOf(key);
  if (!number || store_.object(*number)->spec.active == active) return;
  api::Workload& workload = store_.Edit(*number);
  workload.spec.active = active;
  ++workload.meta.generation;
  Settle();
}

void ControlPlane::Reclaim(const api::ObjectKey& key, const std::string& pod_set,
                           std::int32_t count) {
  const auto number = NumberOf(key);
  std::vector<api::ReclaimablePod> reclaimable = {{pod_set, count}};
  if (!number || store_.object(*number)->status.reclaimable_pods == reclaimable) return;
  store_.Edit(*number).status.reclaimable_pods = std::move(reclaimable);
  Settle();
}

void ControlPlane::SetCheck(const api::ObjectKey& key, const std::string& check,
                            api::CheckState state) {
  const auto number = NumberOf(key);
  if (!number) return;
  std::vector<api::AdmissionCheckState> checks = store_.object(*number)->status.admission_checks;
  bool changed = false;
  for (api::AdmissionCheckState& known : checks) {
    if (known.name != check || known.state == state) continue;
    changed = true;
    known.state = state;
    known.last_transition_time = Stamp();
  }
  if (!changed) return;  // no write, no event
  store_.Edit(*number).status.admission_checks = std::move(checks);
  Settle();
}

bool ControlPlane::ReconcileOne(std::size_t number) {
  admission::WorkloadPlan plan = driver_.PlanWorkload(*store_.object(number), objects_, Stamp());
  if (!plan.status && !plan.deactivate) return false;
  api::Workload& workload = store_.Edit(number);
  if (plan.status) workload.status = *std::move(plan.status);
  if (plan.deactivate && workload.spec.active) {
    workload.spec.active = false;
    ++workload.meta.generation;
  }
  store_.Deliver(now_);
  return true;
}

void ControlPlane::Reconcile() {
  for (int round = 0; round < kMaxRounds; ++round) {
    bool changed = false;
    for (const auto& [key, number] : numbers_) changed = ReconcileOne(number) || changed;
    if (!changed) return;
  }
}

std::vector<api::ObjectKey> ControlPlane::Evicted() const {
  std::vector<api::ObjectKey> keys;
  for (const auto& [key, workload] : workloads()) {
    const auto is = [&conditions = workload.status.conditions](const char* type) {
      return api::IsTrue(conditions, type);
    };
    if (is(api::kEvicted) && is(api::kQuotaReserved) && !is(api::kFinished)) keys.push_back(key);
  }
  return keys;
}

std::string ControlPlane::Release(const api::ObjectKey& key) {
  const auto number = NumberOf(key);
  if (!number) return "";
  const api::Condition* evicted =
      api::FindCondition(store_.object(*number)->status.conditions, api::kEvicted);
  if (evicted == nullptr || evicted->status != api::ConditionStatus::kTrue) return "";
  std::string reason = evicted->reason;
  store_.Release(*number, Stamp());
  Settle();
  return reason;
}

void ControlPlane::PerformOne(const admission::DecidedWrite& write) {
  const auto number = NumberOf(write.workload().meta.key());
  if (!number) return;
  const api::Workload& current = *store_.object(*number);
  if (!driver_.IsDue(write, current)) return;
  if (write.kind == admission::DecidedWrite::Kind::kExplain) {
    api::WorkloadStatus status = current.status;
    driver_.Change(write, current, status, Stamp());
    if (status.conditions == current.status.conditions) return;  // no write, no event
  }
  store_.Write(*number, write, Stamp());
  store_.Deliver(now_);
}

void ControlPlane::Perform(const admission::CycleResult& result) {
  for (const admission::Decision& decision : result.decisions) {
    for (const admission::DecidedWrite& write : driver_.WritesOf(decision)) PerformOne(write);
  }
  Reconcile();
}

void Replay(const ControlPlane& plane, admission::Scheduler& scheduler) {
  plane.objects().Replay(scheduler);
  for (const auto& entry : plane.workloads()) {
    scheduler.ApplyWorkload(std::make_shared<const api::Workload>(entry.second), plane.now());
  }
}

}  // namespace berth::simulation

#include "provisioning/controller/reactive_reconciler.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/codec/karpenter.h"
#include "api/codec/provisioning_policy.h"
#include "api/labels.h"
#include "api/provisioning_labels.h"
#include "checks/controller_names.h"
#include "provisioning/check_settings.h"
#include "provisioning/controller/check_memory.h"
#include "provisioning/reactive_decider.h"

namespace berth::provisioning {
namespace {

constexpr Duration kSyncWait = std::chrono::milliseconds(100);

bool IsReactive(const api::AdmissionCheck& check) {
  return check.controller_name == checks::kReactiveCheckController;
}

std::optional<api::ObjectKey> WorkloadOf(const api::Pod& pod) {
  const std::string* name = api::FindValue(pod.meta.annotations, api::kWorkloadAnnotation);
  if (name == nullptr) return std::nullopt;
  return api::ObjectKey{pod.meta.namespace_name, *name};
}

// The Workload of a placeholder.
std::optional<api::ObjectKey> HeldFor(const api::Pod& pod) {
  const std::string* name = api::FindValue(pod.meta.annotations, api::kPlaceholderAnnotation);
  if (name == nullptr) return std::nullopt;
  return api::ObjectKey{pod.meta.namespace_name, *name};
}

std::string IndexValue(const api::ObjectKey& workload) {
  return workload.namespace_name + "/" + workload.name;
}

// The parts of a pod that the decision reads.
bool SameForUs(const api::Pod& a, const api::Pod& b) {
  return a.phase == b.phase && a.spec.node_name == b.spec.node_name &&
         a.conditions == b.conditions && a.meta.deletion_timestamp == b.meta.deletion_timestamp;
}

}  // namespace

ReactiveReconciler::ReactiveReconciler(kube::Manager& manager, const Clock& clock,
                                       kube::EventRecorder& events, StockKeeperOptions stock,
                                       SpendKeeper& spend,
                                       std::function<void(const std::string&)> taken_back)
    : manager_(manager),
      clock_(clock),
      workloads_(manager.InformerFor<api::Workload>()),
      checks_(manager.InformerFor<api::AdmissionCheck>()),
      policies_(manager.OptionalInformerFor<api::ProvisioningPolicy>()),
      flavors_(manager.InformerFor<api::ResourceFlavor>()),
      jobs_(checks::JobsOf(manager)),
      check_writer_(manager, events, checks::kReactiveCheckController),
      placeholders_(manager, events),
      stock_(manager.client(), std::move(stock)),
      spend_(spend),
      taken_back_(std::move(taken_back)),
      told_(manager.client(), clock) {}

void ReactiveReconciler::Watch(kube::Controller& controller) {
  controller_ = &controller;
  controller.AddSweep(checks::CheckedWorkloads(workloads_));
  const auto add_checked = [&controller](const auto& workload) {
    if (!workload->status.admission_checks.empty()) controller.Add(workload->meta.key());
  };
  workloads_.AddHandler(
      {.on_add = add_checked,
       .on_update = [add_checked](const auto&, const auto& now) { add_checked(now); },
       .on_delete = [this, &controller](const auto& workload) { Forget(workload, controller); }});
  const auto all = [this, &controller](const auto&) { AddAll(controller, ours_); };
  const auto check_came = [this, &controller](const auto& check) {
    if (!IsReactive(*check)) return;
    Open(controller);
    for (const auto& workload : workloads_.objects()) {
      const auto& states = workload->status.admission_checks;
      const bool has = std::any_of(states.begin(), states.end(), [&check](const auto& state) {
        return state.name == check->meta.name;
      });
      if (has) controller.Add(workload->meta.key());
    }
  };
  checks_.AddHandler({.on_add = check_came,
                      .on_update =
                          [check_came](const auto& before, const auto& now) {
                            if (before->meta.annotations != now->meta.annotations) check_came(now);
                          },
                      .on_delete = all});
  policies_.AddHandler({.on_add = all,
                        .on_update = [all](const auto&, const auto& now) { all(now); },
                        .on_delete = all});
  const auto stale = [this](const auto&) { flavors_stale_ = true; };
  flavors_.AddHandler({.on_add = stale,
                       .on_update = [this](const auto&, const auto&) { flavors_stale_ = true; },
                       .on_delete = stale});
}

// What was charged for an attempt that brought no node is taken back.
void ReactiveReconciler::Forget(const checks::WorkloadPtr& workload, kube::Controller& controller) {
  const api::ObjectKey key = workload->meta.key();
  if (ours_.erase(key) == 0) return;
  waiting_.erase(key);
  waiting_for_budget_.Follow(*workload, /*waits=*/false);
  if (pods_ == nullptr || !spend_.IsLoaded(QueueOf(*workload))) return;
  ReactiveSituation situation{.workload = workload.get(), .spend = &spend_.memory()};
  ObservePods(*workload, situation);
  const api::MemoryByCheck memory = MemoryOf(*workload);
  std::vector<Charge> charges;
  for (const api::AdmissionCheckState& state : OurChecks(*workload)) {
    const auto found = memory.find(state.name);
    for (Charge& charge : SettledReactiveCharges(
             situation, state.name,
             found == memory.end() ? api::ProvisioningMemory{} : found->second)) {
      charges.push_back(std::move(charge));
    }
  }
  if (charges.empty()) return;
  gone_[key] = std::move(charges);
  controller.Add(key);
}

void ReactiveReconciler::TakeBackOf(const api::ObjectKey& gone, Done done) {
  const auto left = gone_.find(gone);
  Record(left->second);
  const std::string queue = left->second.front().queue;
  spend_.Settle(queue, [this, gone, done = std::move(done)](const Status& settled) {
    if (!settled) return done(settled.error());
    gone_.erase(gone);
    Reconcile(gone, done);
  });
}

void ReactiveReconciler::Record(const std::vector<Charge>& charges) {
  for (const Charge& charge : charges) {
    spend_.Record(charge);
    if (charge.nano_dollars == 0) taken_back_(charge.queue);
  }
}

void ReactiveReconciler::WakeForBudget(const std::string& queue) {
  for (const api::ObjectKey& key : waiting_for_budget_.Of(queue)) controller_->Add(key);
}

void ReactiveReconciler::AddAll(kube::Controller& controller,
                                const std::set<api::ObjectKey>& keys) {
  for (const api::ObjectKey& key : keys) controller.Add(key);
}

void ReactiveReconciler::Open(kube::Controller& controller) {
  if (pods_ != nullptr) return;
  pods_ = &manager_.InformerFor<api::Pod>();
  pools_ = &manager_.OptionalInformerFor<api::KarpenterNodePool>();
  claims_ = &manager_.OptionalInformerFor<api::KarpenterNodeClaim>();
  pods_->AddIndex(kWorkloadIndex, [](const api::Pod& pod) {
    const auto key = WorkloadOf(pod);
    return key ? std::vector{IndexValue(*key)} : std::vector<std::string>{};
  });
  pods_->AddIndex(kPlaceholderIndex, [](const api::Pod& pod) {
    const auto key = HeldFor(pod);
    return key ? std::vector{IndexValue(*key)} : std::vector<std::string>{};
  });
  const auto add = [this, &controller](const auto& pod) {
    auto key = WorkloadOf(*pod);
    if (!key) key = HeldFor(*pod);
    if (key && ours_.contains(*key)) controller.Add(*key);
  };
  pods_->AddHandler({.on_add = add,
                     .on_update =
                         [add](const auto& before, const auto& now) {
                           if (!SameForUs(*before, *now)) add(now);
                         },
                     .on_delete = add});
  const auto supply_changed = [this, &controller](const auto&) { AddAll(controller, waiting_); };
  const auto update = [supply_changed](const auto&, const auto& now) { supply_changed(now); };
  pools_->AddHandler({.on_add = supply_changed, .on_update = update, .on_delete = supply_changed});
  claims_->AddHandler({.on_add = supply_changed, .on_update = update, .on_delete = supply_changed});
}

bool ReactiveReconciler::IsSynced() const {
  return pods_ != nullptr && pods_->has_synced() &&
         (pools_->has_synced() || pools_->is_missing()) &&
         (claims_->has_synced() || claims_->is_missing());
}

const api::Pod* ReactiveReconciler::UntoldPod(const ReactiveSituation& situation) const {
  const LongestWait wait = LongestWaitOf(situation.pods);
  if (wait.pod == nullptr || clock_.Now() - wait.since < kQuietWait || told_.IsKnown(*wait.pod)) {
    return nullptr;
  }
  return wait.pod;
}

std::vector<api::AdmissionCheckState> ReactiveReconciler::OurChecks(
    const api::Workload& workload) const {
  std::vector<api::AdmissionCheckState> ours;
  for (const api::AdmissionCheckState& state : workload.status.admission_checks) {
    const auto check = checks_.Get({"", state.name});
    if (check != nullptr && IsReactive(*check)) ours.push_back(state);
  }
  return ours;
}

ReactiveSituation ReactiveReconciler::Observe(const api::Workload& workload) {
  if (std::exchange(flavors_stale_, false)) {
    flavor_table_.clear();
    for (const auto& flavor : flavors_.objects()) flavor_table_[flavor->meta.name] = *flavor;
  }
  ReactiveSituation situation{.workload = &workload, .flavors = &flavor_table_};
  for (const api::AdmissionCheckState& state : OurChecks(workload)) {
    ReactiveCheck input{.name = state.name};
    const std::string policy = PolicyNameOf(*checks_.Get({"", state.name}), nullptr);
    // The pointers are valid while the informers' stores do not change: during this call.
    if (!policy.empty()) {
      input.policy = policies_.Get({"", policy}).get();
      input.active = input.policy != nullptr;
    }
    if (input.policy != nullptr && input.policy->max_cost_per_day) {
      situation.spend = &spend_.memory();
    }
    situation.checks.push_back(std::move(input));
  }
  ObservePods(workload, situation);
  situation.supply.has_karpenter = !pools_->is_missing() && !claims_->is_missing();
  for (const auto& pool : pools_->objects()) situation.supply.pools.push_back(pool.get());
  for (const auto& claim : claims_->objects()) situation.supply.claims.push_back(claim.get());
  if (const LongestWait wait = LongestWaitOf(situation.pods); wait.pod != nullptr) {
    situation.supply.told = told_.Of(*wait.pod, wait.since);
  }
  situation.memory = MemoryOf(workload);
  if (!policies_.objects().empty()) situation.stock = &stock_.memory();
  situation.job_deadline = checks::JobDeadlineOf(jobs_, workload);
  if (runs_ != nullptr && !policies_.objects().empty()) {
    situation.past_run = runs_->Expected(workload);
  }
  return situation;
}

// The pointers are valid while the informer's store does not change.
void ReactiveReconciler::ObservePods(const api::Workload& workload, ReactiveSituation& situation) {
  for (const auto& pod : pods_->ByIndex(kWorkloadIndex, IndexValue(workload.meta.key()))) {
    situation.pods.push_back(pod.get());
  }
  for (const auto& pod : pods_->ByIndex(kPlaceholderIndex, IndexValue(workload.meta.key()))) {
    const api::OwnerReference* owner = api::ControllerOf(pod->meta);
    if (owner != nullptr && owner->uid == workload.meta.uid) {
      situation.placeholders.push_back(pod.get());
    }
  }
}

bool ReactiveReconciler::HasMemories(const api::ObjectKey& key, const ReactiveSituation& situation,
                                     const Done& done) {
  const auto go_on = [this, key, done](const Status& status) {
    if (!status) return done(status.error());
    Reconcile(key, done);
  };
  if (situation.stock != nullptr && !stock_.IsLoaded({kReactiveClass})) {
    stock_.Load({kReactiveClass}, go_on);
    return false;
  }
  const std::string queue = QueueOf(*situation.workload);
  if (situation.spend == nullptr || spend_.IsSettled(queue)) return true;
  spend_.Settle(queue, go_on);
  return false;
}

void ReactiveReconciler::Reconcile(const api::ObjectKey& key, Done done) {
  if (gone_.contains(key)) return TakeBackOf(key, std::move(done));
  const checks::WorkloadPtr workload = workloads_.Get(key);
  if (workload == nullptr || OurChecks(*workload).empty()) {
    ours_.erase(key);
    waiting_.erase(key);
    return done(kube::NextLook{});
  }
  ours_.insert(key);
  if (!IsSynced()) return done(kube::NextLook{kSyncWait});
  ReactiveSituation situation = Observe(*workload);
  if (!HasMemories(key, situation, done)) return;
  if (const api::Pod* pod = UntoldPod(situation)) {
    return told_.Read(*pod, claims_->has_synced(),
                      [this, key, done = std::move(done)] { Reconcile(key, done); });
  }
  Decision decision = DecideReactive(situation, clock_.Now());
  if (!decision.lessons.empty()) {
    for (const StockLesson& lesson : decision.lessons) stock_.Record(lesson);
    decision = DecideReactive(situation, clock_.Now());
  }
  if (!decision.charges.empty()) {
    Record(decision.charges);
    return Reconcile(key, std::move(done));
  }
  waiting_for_budget_.Follow(*workload, decision.waits_for_budget);
  const auto& states = workload->status.admission_checks;
  // An evicted Workload has no quota, and its checks are Pending: the supply of nodes is not waited
  // for.
  const bool looks =
      std::any_of(situation.pods.begin(), situation.pods.end(),
                  [](const auto* pod) { return pod->spec.node_name.empty(); }) ||
      std::any_of(situation.checks.begin(), situation.checks.end(), [&states](const auto& check) {
        return std::any_of(states.begin(), states.end(), [&check](const auto& state) {
          return state.name == check.name && state.state == api::CheckState::kPending;
        });
      });
  if (looks && NeedsCapacity(*workload)) {
    waiting_.insert(key);
  } else {
    waiting_.erase(key);
    told_.Trim();
  }
  Decided(workload, decision, std::move(done));
}

void ReactiveReconciler::Decided(const checks::WorkloadPtr& workload, const Decision& decision,
                                 Done done) {
  std::vector<kube::Step> steps;
  if (decision.memory) {
    const MemoryWrite& memory = *decision.memory;
    steps.push_back(check_writer_.WriteMemory(
        workload, WithMemory({{api::kReactiveAvoidedFlavorsAnnotation, memory.avoided_flavors}},
                             memory.memory)));
  } else {
    if (!decision.checks.empty()) {
      std::vector<api::AdmissionCheckState> checks = OurChecks(*workload);
      for (api::AdmissionCheckState& check : checks) {
        for (const api::AdmissionCheckState& each : decision.checks) {
          if (each.name == check.name) check = each;
        }
      }
      steps.push_back(check_writer_.Write(workload, std::move(checks)));
    }
    for (const Action& action : decision.actions) {
      if (const auto* hold = std::get_if<CreatePlaceholder>(&action)) {
        steps.push_back(placeholders_.Create(workload, *hold));
      } else if (const auto* drop = std::get_if<DeletePlaceholder>(&action)) {
        steps.push_back(placeholders_.Delete(workload, *drop));
      } else {
        steps.push_back(check_writer_.Record(workload, std::get<CheckEvent>(action)));
      }
    }
  }
  kube::RunSteps(std::move(steps),
                 [done = std::move(done), wake = decision.next_wake](const Status& status) {
                   if (!status) return done(status.error());
                   done(kube::NextLook{wake});
                 });
}

}  // namespace berth::provisioning

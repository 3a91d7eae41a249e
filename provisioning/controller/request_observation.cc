// What a RequestReconciler sees of one Workload.
#include <algorithm>
#include <utility>

#include "api/codec/provisioning_policy.h"
#include "api/labels.h"
#include "api/owner_key.h"
#include "checks/controller_names.h"
#include "provisioning/check_settings.h"
#include "provisioning/controller/check_memory.h"
#include "provisioning/controller/request_reconciler.h"
#include "provisioning/names.h"
#include "provisioning/request_state.h"
#include "provisioning/steps.h"

namespace berth::provisioning {

Situation RequestReconciler::Observe(const api::Workload& workload) {
  RefreshFlavors();
  Situation situation;
  situation.workload = &workload;
  situation.flavors = &flavor_table_;
  for (const api::AdmissionCheckState& state : OurChecks(workload)) {
    CheckInput input{.name = state.name};
    const auto check = checks_.Get({"", state.name});
    if (const Result<std::string> name = ConfigNameOf(*check)) {
      // Valid while the informer's store does not change: during this call.
      input.config = configs_.Get({"", *name}).get();
    }
    // A check whose policy is missing is inactive: Kueue's rules alone would ask another class.
    if (const std::string policy = PolicyNameOf(*check, input.config); !policy.empty()) {
      input.policy = policies_.Get({"", policy}).get();
      if (input.policy == nullptr) input.config = nullptr;
    }
    situation.checks.push_back(std::move(input));
  }
  situation.memory = MemoryOf(workload);
  // Without any policy nothing is remembered: Kueue's rules alone.
  if (!policies_.objects().empty()) {
    situation.stock = &stock_.memory();
    situation.flow = &flow_;
  }
  situation.job_deadline = checks::JobDeadlineOf(jobs_, workload);
  if (runs_ != nullptr && !policies_.objects().empty()) {
    situation.past_run = runs_->Expected(workload);
  }
  ObserveRequests(workload, situation);
  ObserveTemplates(workload, situation);
  for (const CheckInput& check : situation.checks) {
    if (check.policy != nullptr && check.policy->max_cost_per_day) {
      situation.spend = &spend_.memory();
    }
  }
  ObserveNodes(workload, situation);
  for (CheckInput& check : situation.checks) {
    check.last_attempt = LastAttempt(workload, check.name, situation.requests);
  }
  return situation;
}

void RequestReconciler::OpenNodes(const api::ProvisioningPolicy& policy) {
  if (NeedsNodes(policy)) nodes_.Open();
}

bool RequestReconciler::AwaitsNodes(const Situation& situation) const {
  return nodes_.IsLoading() &&
         std::any_of(situation.checks.begin(), situation.checks.end(), [](const auto& check) {
           return check.policy != nullptr && NeedsNodes(*check.policy);
         });
}

// Idle nodes are looked for only by a check that is about to ask for capacity; pods only while
// capacity is in use.
void RequestReconciler::ObserveNodes(const api::Workload& workload, Situation& situation) const {
  if (!nodes_.IsOpen() || lease_steps_.AreRefused()) return;
  const bool asked = std::any_of(situation.requests.begin(), situation.requests.end(),
                                 [](const auto& each) { return !each.meta.deletion_timestamp; });
  auto idle = NodeView::Idle::kLeaveOut;
  bool in_use = false;
  for (const CheckInput& check : situation.checks) {
    if (check.policy == nullptr || !NeedsNodes(*check.policy)) continue;
    for (const api::AdmissionCheckState& state : workload.status.admission_checks) {
      if (state.name != check.name) continue;
      const bool reuses = check.policy->reuse && check.policy->reuse->enabled;
      if (state.state == api::CheckState::kReady) in_use = true;
      if (state.state == api::CheckState::kPending && reuses && !asked) {
        idle = NodeView::Idle::kInclude;
      }
    }
  }
  situation.nodes = nodes_.NodesFor(workload, idle);
  if (in_use) situation.pods = nodes_.PodsFor(situation);
}

bool RequestReconciler::HasMemories(const api::ObjectKey& key, const Situation& situation,
                                    const Done& done) {
  const auto go_on = [this, key, done](const Status& status) {
    if (!status) return done(status.error());
    Reconcile(key, done);
  };
  const std::vector<std::string> classes = RememberedClasses(situation);
  if (!stock_.IsLoaded(classes)) {
    stock_.Load(classes, go_on);
    return false;
  }
  const std::string queue = QueueOf(*situation.workload);
  if (situation.spend == nullptr || spend_.IsSettled(queue)) return true;
  spend_.Settle(queue, go_on);
  return false;
}

// A Workload that is gone: its requests are deleted with it, its leases by this.
void RequestReconciler::ReleaseLeasesOf(const api::ObjectKey& gone, Done done) {
  std::vector<kube::Step> steps;
  for (const auto& node : nodes_.LeasedTo(gone)) {
    if (lease_steps_.AreRefused()) break;
    steps.push_back(lease_steps_.Release(
        {.node = node->meta.name, .resource_version = node->meta.resource_version}));
  }
  kube::RunSteps(std::move(steps), [done = std::move(done)](const Status& status) {
    if (!status) return done(status.error());
    done(kube::NextLook{});
  });
}

std::int32_t RequestReconciler::LastAttempt(const api::Workload& workload, const std::string& check,
                                            const std::vector<api::ProvisioningRequest>& requests) {
  std::int32_t last = 0;
  for (const api::ProvisioningRequest& request : requests) {
    last = std::max(last, AttemptOf(request.meta.name, workload.meta.name, check).value_or(0));
  }
  const auto known = last_attempt_by_check_.find(workload.meta.uid);
  if (known == last_attempt_by_check_.end() && last == 0) return 0;
  std::int32_t& kept = last_attempt_by_check_[workload.meta.uid][check];
  kept = std::max(kept, last);
  return kept;
}

std::vector<api::AdmissionCheckState> RequestReconciler::OurChecks(
    const api::Workload& workload) const {
  std::vector<api::AdmissionCheckState> ours;
  for (const api::AdmissionCheckState& state : workload.status.admission_checks) {
    const auto check = checks_.Get({"", state.name});
    if (check != nullptr && check->controller_name == checks::kProvisioningCheckController) {
      ours.push_back(state);
    }
  }
  return ours;
}

void RequestReconciler::ObserveRequests(const api::Workload& workload, Situation& situation) {
  for (const auto& request : requests_.ByIndex(kOwnerIndex, api::OwnerKey(workload.meta))) {
    situation.requests.push_back(*request);
  }
  const auto created = created_.find(workload.meta.uid);
  if (created == created_.end()) return;
  for (const Created& each : created->second) situation.requests.push_back(each.request);
}

void RequestReconciler::ObserveTemplates(const api::Workload& workload,
                                         Situation& situation) const {
  std::vector<std::string> owners{workload.meta.uid};
  for (const api::ProvisioningRequest& request : situation.requests) {
    owners.push_back(request.meta.uid);
  }
  for (const std::string& uid : owners) {
    const std::string owner = api::OwnerKey(workload.meta.namespace_name, uid);
    for (const auto& each : templates_.ByIndex(kOwnerIndex, owner)) {
      situation.templates.push_back({each->meta.name, uid});
    }
  }
}

namespace {

// The requests for which no machines have come yet.
OpenRequests OpenOf(const api::Workload& workload,
                    const std::vector<api::ProvisioningRequest>& requests) {
  OpenRequests open;
  const std::vector<std::string> flavors = FlavorsOf(workload);
  for (const api::ProvisioningRequest& request : requests) {
    if (MayBeGranted(request)) {
      ++open[LaneOf(request.provisioning_class_name, flavors)];
    }
  }
  return open;
}

}  // namespace

// Before the first decision the requests that exist are counted: a new leader opens no more.
void RequestReconciler::SeedFlow() {
  flow_seeded_ = true;
  std::map<std::string, std::vector<api::ProvisioningRequest>> by_owner;
  for (const auto& request : requests_.objects()) {
    const api::OwnerReference* owner = api::ControllerOf(request->meta);
    if (owner != nullptr) by_owner[owner->uid].push_back(*request);
  }
  for (const auto& [uid, requests] : by_owner) {
    const api::OwnerReference* owner = api::ControllerOf(requests.front().meta);
    const auto workload = workloads_.Get({requests.front().meta.namespace_name, owner->name});
    if (workload != nullptr && workload->meta.uid == uid) {
      flow_.SetOpen(uid, OpenOf(*workload, requests));
    }
  }
}

void RequestReconciler::CountOpen(const Situation& situation) {
  if (situation.flow == nullptr) return;
  if (!flow_seeded_) SeedFlow();
  flow_.SetOpen(situation.workload->meta.uid, OpenOf(*situation.workload, situation.requests));
  if (situation.checks.empty()) {
    flow_.SetWait(FlowPlaceOf(*situation.workload), {}, std::nullopt);
  }
  WakeFlow();
}

// Takes the place of the Workload from the decision; a decision that writes the memory alone
// changes no place.
void RequestReconciler::FollowFlow(const api::Workload& workload, const Situation& situation,
                                   const Decision& decision) {
  if (situation.flow == nullptr || decision.memory) return;
  OpenRequests open = OpenOf(workload, situation.requests);
  for (const Action& action : decision.actions) {
    if (const auto* ask = std::get_if<CreateRequest>(&action)) {
      ++open[LaneOf(ask->request.provisioning_class_name, FlavorsOf(workload))];
    }
  }
  flow_.SetOpen(workload.meta.uid, std::move(open));
  flow_.SetWait(FlowPlaceOf(workload), workload.meta.key(), decision.waits);
  WakeFlow();
}

// A charge that is taken back may let a Workload ask that waits for the budget.
void RequestReconciler::RecordCharge(const Charge& charge) {
  spend_.Record(charge);
  if (charge.nano_dollars == 0) WakeForBudget(charge.queue);
}

void RequestReconciler::WakeForBudget(const std::string& queue) {
  if (wake_others_) wake_others_(queue);
  for (const api::ObjectKey& key : waiting_for_budget_.Of(queue)) controller_->Add(key);
}

void RequestReconciler::WakeFlow() {
  for (const api::ObjectKey& key : flow_.TakeReady()) controller_->Add(key);
}

void RequestReconciler::RefreshFlavors() {
  if (!std::exchange(flavors_stale_, false)) return;
  flavor_table_.clear();
  for (const auto& flavor : flavors_.objects()) flavor_table_[flavor->meta.name] = *flavor;
}

// The classes whose stock decides about the Workload.
std::vector<std::string> RequestReconciler::RememberedClasses(const Situation& situation) {
  std::vector<std::string> classes;
  if (situation.stock == nullptr) return classes;
  const auto add = [&classes](const std::string& name) {
    if (!name.empty() && std::find(classes.begin(), classes.end(), name) == classes.end()) {
      classes.push_back(name);
    }
  };
  for (const CheckInput& input : situation.checks) {
    if (input.config == nullptr) continue;
    add(input.config->provisioning_class_name);
    if (input.policy == nullptr) continue;
    for (const api::ProvisioningStep& step : StepsOf(*input.policy)) {
      add(step.provisioning_class_name);
    }
  }
  for (const api::ProvisioningRequest& request : situation.requests) {
    add(request.provisioning_class_name);
  }
  return classes;
}

}  // namespace berth::provisioning

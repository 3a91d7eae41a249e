// What a RequestReconciler sees of one Workload.
#include <algorithm>
#include <utility>

#include "api/codec/provisioning_policy.h"
#include "api/labels.h"
#include "provisioning/controller/admission_check_reconciler.h"
#include "provisioning/controller/request_reconciler.h"
#include "provisioning/names.h"
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
  if (!policies_.objects().empty()) situation.stock = &stock_.memory();
  situation.job_deadline = JobDeadlineOf(jobs_, workload);
  ObserveRequests(workload, situation);
  ObserveTemplates(workload, situation);
  for (CheckInput& check : situation.checks) {
    check.last_attempt = LastAttempt(workload, check.name, situation.requests);
  }
  return situation;
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
    if (check != nullptr && check->controller_name == api::kProvisioningCheckController) {
      ours.push_back(state);
    }
  }
  return ours;
}

void RequestReconciler::ObserveRequests(const api::Workload& workload, Situation& situation) {
  for (const auto& request : requests_.ByIndex(kOwnerIndex, workload.meta.uid)) {
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
    for (const auto& each : templates_.ByIndex(kOwnerIndex, uid)) {
      situation.templates.push_back({each->meta.name, uid});
    }
  }
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

// provisioning/check_decider.h — decides the state of one check of a Workload, and its actions. See
// decide.h. Internal to provisioning/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/condition.h"
#include "api/provisioning_policy.h"
#include "api/provisioning_request.h"
#include "api/reasons.h"
#include "api/workload.h"
#include "base/clock.h"
#include "provisioning/decide.h"
#include "provisioning/pod_sets.h"
#include "provisioning/request_state.h"
#include "provisioning/steps.h"

namespace berth::provisioning {

// The step of the newest request after attempt `counted` that is not being deleted, or empty.
std::string AskedStep(const Situation& situation, const std::string& check, std::int32_t counted);

// Decides once: make one for each decision. All arguments must outlive the object.
class CheckDecider {
 public:
  CheckDecider(const Situation& situation, const CheckInput& input,
               const api::AdmissionCheckState& before, const DecideOptions& options, WallTime now,
               Decision& out);
  CheckDecider(const CheckDecider&) = delete;
  CheckDecider& operator=(const CheckDecider&) = delete;

  // Adds the changed check and its actions to the decision. Returns the memory that must be written
  // before these, or nullopt.
  std::optional<api::ProvisioningMemory> Run();

 private:
  bool admitted() const { return api::IsTrue(workload_.status.conditions, api::kAdmitted); }
  std::int32_t failures() const { return state_.retry_count.value_or(0); }
  void Add(Action action) { out_.actions.push_back(std::move(action)); }
  void Say(api::CheckState state, const std::string& message) {
    state_.state = state;
    state_.message = message;
  }

  const api::ProvisioningRequestConfig& config() const {
    return plan_ ? plan_->config() : *input_.config;
  }

  UpdateOptions Updates() const {
    UpdateOptions updates = options_.updates;
    if (input_.policy != nullptr) updates.protect_pods = input_.policy->protect_pods;
    return updates;
  }

  void FollowConfig();
  bool FollowMemory();
  void FollowVetoes();
  void FindRequests();
  bool InSync(const api::ProvisioningRequest& request) const;
  bool IsOld(const api::ProvisioningRequest& request, std::int32_t attempt) const;
  void Ask();
  void CreateTemplates(const std::string& request_name, const api::ProvisioningRequest* owner);
  void FollowRequest(const api::ProvisioningRequest& request);
  void Failure(const api::ProvisioningRequest& request, const char* prefix);
  void Revoked(const api::ProvisioningRequest& request);
  bool LearnFrom(const api::ProvisioningRequest& request, RequestState state);
  bool Learn(const api::ProvisioningRequest& request, const std::string& reason, WallTime at);
  void AskForTheRun(api::ProvisioningRequest& request) const;
  void GuardExpiry(const api::ProvisioningRequest& request);
  bool LostItsPlace(const api::ProvisioningRequest& request);
  bool WaitedTooLong(const api::ProvisioningRequest& request);
  void Count(const api::ProvisioningRequest& request, const std::string& reason,
             const std::string& message, WallTime at);
  void WakeIn(Duration wait);
  void Advise(const std::string& reason);
  void Wait(const api::ProvisioningRequest& request);
  void Record();

  const api::Workload& workload_;
  const Situation& situation_;
  const CheckInput& input_;
  const api::AdmissionCheckState& before_;
  api::AdmissionCheckState state_;
  const DecideOptions& options_;
  const WallTime now_;
  Decision& out_;
  std::vector<PodSetGroup> groups_;
  const api::ProvisioningRequest* current_ = nullptr;
  std::int32_t highest_attempt_ = 0;
  // With a policy.
  api::ProvisioningMemory memory_;
  const std::vector<std::string> flavors_;  // of the admission
  Vetoes vetoes_;
  std::optional<StepPlan> plan_;  // nullopt: no policy, or none of its steps is for these flavors
  std::optional<api::ProvisioningMemory> counted_;
};

}  // namespace berth::provisioning

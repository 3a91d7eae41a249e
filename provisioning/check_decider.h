// provisioning/check_decider.h — decides the state of one check of a Workload, and its actions. See
// decide.h. Internal to provisioning/.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
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
#include "provisioning/race.h"
#include "provisioning/request_state.h"
#include "provisioning/run_duration.h"
#include "provisioning/steps.h"

namespace berth::provisioning {

// The step of the newest request after attempt `counted` that is not being deleted, or empty.
std::string AskedStep(const Situation& situation, const std::string& check, std::int32_t counted);

// Whether a request after attempt `counted` waits for its nodes, or has them.
bool HasLiveRequest(const Situation& situation, const std::string& check, std::int32_t counted);

// The zone in which the request asks, or empty.
std::string ZoneOf(const api::ProvisioningRequest& request);
// The attempt of the check's next request.
std::int32_t NextAttempt(const Situation& situation, const CheckInput& input,
                         const api::ProvisioningMemory& memory);

// Whether the request is for some of the pods that its Workload asks for one after the other.
bool IsDivided(const api::ProvisioningRequest& request);
// The pods of the request.
std::int64_t PodsOf(const api::ProvisioningRequest& request);

// The charges of the Workload that leave room for its next request: that of the next attempt, and
// those of requests that are given up and deleted before it.
std::set<std::string> ReplacedCharges(const Situation& situation, const CheckInput& input,
                                      const api::ProvisioningMemory& memory);

// What follows for the charge of the request when it is gone or cannot be granted: it is taken back
// if no nodes came, else kept under an id of its own. Empty: nothing is left to do.
std::vector<Charge> SettledCharges(const SpendMemory& spend, const api::Workload& workload,
                                   const std::string& check,
                                   const api::ProvisioningRequest& request);

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
  // The vetoes of the policy's steps, after Run.
  Vetoes TakeVetoes() { return std::move(vetoes_); }

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
  const api::ProvisioningRequest* CountedRequest() const;
  bool FollowMemory();
  void FollowVetoes();
  void FindRequests();
  bool InSync(const api::ProvisioningRequest& request) const;
  bool IsOld(const api::ProvisioningRequest& request, std::int32_t attempt) const;
  VetoInput AboutSteps() const;
  // What bounds or foretells the run beside the Workload itself; nullopt: nothing.
  std::optional<std::int64_t> RunOfJob() const {
    return RunLimit(input_.policy, workload_, situation_.job_deadline, situation_.past_run);
  }
  // The pod sets that one of several requests is for (check_split.cc).
  using Part = std::vector<PodSetGroup>;
  struct Branch {                                 // one request to make
    const api::ProvisioningStep* step = nullptr;  // null: the config alone
    std::string zone;                             // empty: where the cloud chooses
    std::int32_t attempt = 0;
    std::int32_t race = 0;       // the attempt that began the race; 0: none
    const Part* part = nullptr;  // null: the request is for all pods
  };
  bool HasRoom(const Branch& branch);
  std::int32_t AttemptsOf(const api::ProvisioningStep& step) const;  // failed ones
  void Ask();
  void AskIn(const Branch& branch);
  void WeighSteps();
  std::optional<std::int64_t> SecondsFor(const Branch& branch) const;
  void SearchZones(const Branch& branch, api::ProvisioningRequest& request) const;
  void CreateTemplates(const std::string& request_name, const std::string& zone,
                       const api::ProvisioningRequest* owner, const Part& groups);
  void SplitGroups();
  bool Splits() const { return parts_.size() > 1; }
  const Part& GroupsOf(const api::ProvisioningRequest& request) const;
  bool ChooseParts(const std::vector<Runner>& candidates);
  void AskForParts(Branch branch, const std::vector<const Part*>& parts);
  std::vector<const Part*> MissingParts() const;
  void FollowParts();
  void FollowPartsInUse();
  // Pods that are asked for in parts, one after the other (check_divide.cc).
  void DivideGroups();
  api::ProvisioningRequestConfig UpdatesConfig(const api::ProvisioningRequest& request) const;
  bool ChooseDivided(const std::vector<Runner>& candidates);
  void FollowDivided();
  void AskForMore(std::int64_t pods, std::int64_t failures, const api::ProvisioningRequest* failed);
  std::int64_t PodsThatRemain() const;
  void JoinParts();
  void HoldParts(WallTime first, std::size_t came, const api::ProvisioningRequest& waiting);
  const api::ProvisioningStep* StepOf(const api::ProvisioningRequest& request) const;
  bool Races() const;
  void ChooseRunners(std::vector<Runner> candidates);
  bool IsKept(const api::ProvisioningRequest& request) const;
  void FollowRequests();
  std::optional<FailedRequest> FailureOf(const Runner& runner);
  void StartNext(std::int32_t open);
  void EndRace(const Runner& winner);
  void LoseRace(std::vector<FailedRequest> ends);
  std::optional<WallTime> SurplusEnd(const api::ProvisioningRequest& request) const;
  void DropLoser(const api::ProvisioningRequest& request);
  void BookSurplus(const api::ProvisioningRequest& request);
  void KeepToItsZone(const api::ProvisioningRequest& request);
  void FollowRequest(const api::ProvisioningRequest& request);
  void Failure(const api::ProvisioningRequest& request, const char* prefix);
  void Revoked(const api::ProvisioningRequest& request);
  std::optional<api::StockKey> StockKeyFor(const api::ProvisioningRequest& request) const;
  bool LearnFrom(const api::ProvisioningRequest& request, RequestState state);
  bool Learn(const api::ProvisioningRequest& request, const std::string& reason, WallTime at);
  void AskForTheRun(api::ProvisioningRequest& request) const;
  bool GuardExpiry(const api::ProvisioningRequest& request);
  bool LostItsPlace(const api::ProvisioningRequest& request);
  bool WaitedTooLong(const api::ProvisioningRequest& request);
  void Count(const api::ProvisioningRequest& request, const std::string& reason,
             const std::string& message, WallTime at);
  struct Trouble {
    std::string reason;
    std::string message;
  };
  const std::string& holder();  // the holder of this check's leases
  bool RunsOnLease() const;
  std::vector<const api::Node*> LeasedNodes();
  std::optional<std::vector<const api::Node*>> IdleNodesFor();
  bool Holds(const api::Node& node);
  bool HoldsEnough();
  bool UseIdleNodes();
  void KeepLease();
  std::optional<Trouble> TroubleWithPods(const Claim& claim,
                                         const std::function<bool(Duration)>& booking_over);
  bool BudgetForbids(const api::ProvisioningStep& step) const;
  // Null: none, or only in favor of a later step.
  const Veto* VetoOf(const api::ProvisioningStep& step) const;
  bool ChargesFirst(const Branch& branch);
  bool SettlesCharge(const api::ProvisioningRequest& request);
  std::optional<Charge> MissingCharge(const api::ProvisioningRequest& request) const;
  void WarnOfBudget(const Branch& branch);
  bool GivesUp(const api::ProvisioningRequest& request, RequestState state);
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
  std::vector<Part> parts_;      // the parts of groups_; empty: one request for all
  Part first_;                   // where divided, the first part; else empty
  std::vector<Runner> runners_;  // the requests that may win, by attempt
  const api::ProvisioningRequest* current_ = nullptr;  // the first of them, or the winner
  // Set where there is a policy.
  api::ProvisioningMemory memory_;
  const std::vector<std::string> flavors_;  // the flavors of the admission
  Vetoes vetoes_;
  std::optional<StepPlan> plan_;  // nullopt: no policy, or none of its steps is for these flavors
  std::optional<api::ProvisioningMemory> counted_;
  std::string holder_;  // empty: not made yet
};

}  // namespace berth::provisioning

// provisioning/policy_steps.h — the steps of a ProvisioningPolicy for one Workload and check.
//
//     step 1 ─ its requests failed or waited too long ─▶ step 2 ─▶ … ─▶ exhausted
//         exhausted ─▶ cycle, hold, or reject
//
// A step is left until its attempts or its waiting time are used up, or a failure came that no
// repetition mends. The step that applies is the first one left whose flavor the Workload was
// admitted with: a step whose flavor has no quota is passed over without being used up, as is a
// step under a veto (vetoes.h). The Workload's memory says how much of each step is used up, so
// that a restart changes nothing. The step of a request that exists applies until it is used up.
//
// Units: seconds. Threads: pure functions. Errors: none; a step of the memory that the policy lacks
// is ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/provisioning_policy.h"
#include "api/queues.h"
#include "base/clock.h"
#include "provisioning/vetoes.h"

namespace berth::provisioning {

// The steps of `policy`, or the one step of a policy without steps.
const std::vector<api::ProvisioningStep>& StepsOf(const api::ProvisioningPolicy& policy);

// The config with class and parameters of the step.
api::ProvisioningRequestConfig WithStep(api::ProvisioningRequestConfig config,
                                        const api::ProvisioningStep& step);

// A ProvisioningRequest that brought no capacity, or whose capacity was taken back.
struct FailedRequest {
  std::int32_t attempt = 0;
  std::string reason;   // the reason of the condition, or kTimeoutReason
  std::string message;  // the message of the cloud, or Berth's
  WallTime at{};
  std::int64_t waited_seconds = 0;  // from its creation to nodes or to the failure
  bool revoked = false;             // the capacity was there: the next request waits for no backoff
};
inline constexpr char kTimeoutReason[] = "WaitLimitReached";
inline constexpr char kNoAnswerReason[] = "NoControllerAnswered";
inline constexpr char kOvertakenReason[] = "Overtaken";
inline constexpr char kGangPartialReason[] = "GangPartial";
inline constexpr char kCapacityEndsReason[] = "CapacityEnds";

class StepPlan {
 public:
  // `flavors`: the flavors of the Workload's admission. `asked`: the step of the request that
  // exists, or empty. All arguments but `asked` must outlive the object.
  StepPlan(const api::ProvisioningPolicy& policy, const api::ProvisioningRequestConfig& config,
           const api::ProvisioningMemory& memory, const std::vector<std::string>& flavors,
           const Vetoes& vetoes, const std::string& asked = "");

  // Whether some step asks for capacity of these flavors, left or not.
  bool concerned() const;
  // The step that applies; null: none is left for these flavors.
  const api::ProvisioningStep* current() const { return current_; }
  // The config with the current step; the config itself where none applies.
  const api::ProvisioningRequestConfig& config() const { return step_config_; }
  // How long the current step may still wait; nullopt: without limit.
  std::optional<std::int64_t> StepSecondsLeft() const;
  // How long one request of the current step may wait: zones that are asked one after the other
  // share the time of the step.
  std::optional<std::int64_t> SecondsLeft() const;
  // The flavors of steps that are all used up or under a veto: the Workload should get another
  // flavor. Empty where the policy holds a Workload whose steps are all used up, or has held it.
  std::vector<std::string> FlavorsToAvoid() const;
  // The vetoes of steps that are not used up: "step a (NeverFits): …; step b (ZoneExcluded): …".
  // Empty: no such step.
  std::string PassedOver() const;
  // The reasons of the vetoes in PassedOver, each once, in the order of the steps.
  std::vector<std::string> VetoReasons() const;
  // The text that names first_left as the next step, and the steps that are passed over.
  // Precondition: first_left is not null.
  std::string GoingOn() const;
  // Whether each step of the policy has a veto of the reason NeverFits.
  bool never_fits() const;
  // The first end of a veto of a step that is not used up; nullopt: none ends by itself.
  std::optional<WallTime> FirstVetoEnd() const;
  // Whether a step is passed over in favor of another one that is left (slow_steps.h).
  bool passes_over_slow_steps() const;
  // Whether a step that is not used up waits for the next day's budget: quota is kept meanwhile, so
  // that a raised budget takes effect at once.
  bool waits_for_budget() const;
  // Whether a policy that holds has ended the last step, and no step is left since then.
  bool was_held() const;
  // Whether some step is not used up, vetoes aside.
  bool some_not_used_up() const;

  // The memory after a request has failed, with the consequence.
  // Where no step is left (the policy was made smaller while the Workload ran), the first step of
  // the Workload's flavors counts. `retries`: the check's retryCount. `then`: the vetoes that the
  // consequence follows; null: those of the plan. Precondition: concerned().
  api::ProvisioningMemory Count(const FailedRequest& failed, std::int32_t retries,
                                const Vetoes* then = nullptr) const;
  // The memory after a request of the current step has lost its place in the cloud's queue: the
  // step is asked for again, with the quota that is held, and its waiting time goes on.
  api::ProvisioningMemory AskAgain(const FailedRequest& lost, std::int32_t retries) const;
  // The step of that name, if it is for the Workload's flavors and not used up; else null.
  const api::ProvisioningStep* Find(const std::string& name) const;
  // The steps left for the Workload's flavors, in order.
  std::vector<const api::ProvisioningStep*> Left() const;
  // How many requests of the step may still fail.
  std::int32_t AttemptsLeft(const api::ProvisioningStep& step) const;
  // The first step left, whatever its flavor; null: the policy is exhausted.
  const api::ProvisioningStep* first_left() const { return FirstLeft(/*that_fits=*/false); }
  // The veto against the step that holds now; null: none.
  const Veto* VetoOf(const api::ProvisioningStep& step) const;
  // Whether the step is neither used up nor under a veto, whatever its flavor.
  bool IsLeft(const api::ProvisioningStep& step) const {
    return !IsUsedUp(step) && VetoOf(step) == nullptr;
  }
  // How long the requests of the step may wait, all together; 0: without limit.
  std::int64_t MaxWait(const api::ProvisioningStep& step) const;
  // How many requests of the step may fail.
  std::int32_t MaxAttempts(const api::ProvisioningStep& step) const;

 private:
  bool IsUsedUp(const api::ProvisioningStep& step) const;
  bool Fits(const api::ProvisioningStep& step) const;
  const api::ProvisioningStep* FirstLeft(bool that_fits) const;
  const api::ProvisioningStep* Current(const std::string& asked) const;
  const api::ProvisioningStep& StepThatAsked() const;
  api::ProvisioningMemory Note(const FailedRequest& failed, std::int32_t retries) const;
  void Follow(const FailedRequest& failed, const Vetoes& then,
              api::ProvisioningMemory& memory) const;

  const api::ProvisioningPolicy& policy_;
  const api::ProvisioningRequestConfig& config_;
  const api::ProvisioningMemory& memory_;
  const std::vector<std::string>& flavors_;
  const Vetoes& vetoes_;
  const std::vector<api::ProvisioningStep>& steps_;
  const api::ProvisioningStep* current_ = nullptr;
  api::ProvisioningRequestConfig step_config_;
};

// base·2^failures of the config, at most its maximum.
std::int64_t BackoffSeconds(const api::ProvisioningRequestConfig& config, std::int32_t failures);

}  // namespace berth::provisioning

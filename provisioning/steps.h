// provisioning/steps.h — the steps of a ProvisioningPolicy for one Workload and check.
//
//     step 1 ─ its requests failed or waited too long ─▶ step 2 ─▶ … ─▶ exhausted ─▶ cycle, or
//     reject
//
// A step is left until its attempts or its waiting time are used up, or a failure came that no
// repetition mends. The step that applies is the first one left whose flavor the Workload was
// admitted with: a step whose flavor has no quota is passed over without being used up. The
// Workload's memory says how much of each step is used up, so that a restart changes nothing.
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

namespace berth::provisioning {

// The steps of `policy`, or the one step of a policy without steps.
std::vector<api::ProvisioningStep> StepsOf(const api::ProvisioningPolicy& policy);

// The config with class and parameters of the step.
api::ProvisioningRequestConfig WithStep(api::ProvisioningRequestConfig config,
                                        const api::ProvisioningStep& step);

// A ProvisioningRequest that brought no capacity, or whose capacity was taken back.
struct FailedRequest {
  std::int32_t attempt = 0;
  std::string reason;   // of the condition, or kTimeoutReason
  std::string message;  // of the cloud, or ours
  WallTime at{};
  std::int64_t waited_seconds = 0;  // from its creation to nodes or to the failure
  bool revoked = false;             // the capacity was there: the next request waits for no backoff
};
inline constexpr char kTimeoutReason[] = "WaitLimitReached";

class StepPlan {
 public:
  // `flavors`: those of the Workload's admission. All arguments must outlive the object.
  StepPlan(const api::ProvisioningPolicy& policy, const api::ProvisioningRequestConfig& config,
           const api::ProvisioningMemory& memory, const std::vector<std::string>& flavors);

  // Whether some step asks for capacity of these flavors, left or not.
  bool concerned() const;
  // The step that applies; null: none is left for these flavors.
  const api::ProvisioningStep* current() const { return current_; }
  // The config with the current step; the config itself where none applies.
  const api::ProvisioningRequestConfig& config() const { return step_config_; }
  // How long the current request may still wait; nullopt: without limit.
  std::optional<std::int64_t> SecondsLeft() const;
  // The flavors of steps that are all used up: the Workload should get another one.
  std::vector<std::string> FlavorsUsedUp() const;

  // The memory after a request has failed, with the consequence.
  // Where no step is left (the policy was made smaller while the Workload ran), the first step of
  // the Workload's flavors counts. `retries`: the check's retryCount. Precondition: concerned().
  api::ProvisioningMemory Count(const FailedRequest& failed, std::int32_t retries) const;
  // The first step left, whatever its flavor; null: the policy is exhausted.
  const api::ProvisioningStep* first_left() const { return FirstLeft(/*that_fits=*/false); }

 private:
  bool IsLeft(const api::ProvisioningStep& step) const;
  bool Fits(const api::ProvisioningStep& step) const;
  const api::ProvisioningStep* FirstLeft(bool that_fits) const;
  std::int64_t MaxWait(const api::ProvisioningStep& step) const;
  std::int32_t MaxAttempts(const api::ProvisioningStep& step) const;
  const api::ProvisioningStep& StepThatAsked() const;
  void Follow(const FailedRequest& failed, const StepPlan& after,
              api::ProvisioningMemory& memory) const;

  const api::ProvisioningPolicy& policy_;
  const api::ProvisioningRequestConfig& config_;
  const api::ProvisioningMemory& memory_;
  const std::vector<std::string>& flavors_;
  std::vector<api::ProvisioningStep> steps_;
  const api::ProvisioningStep* current_ = nullptr;
  api::ProvisioningRequestConfig step_config_;
};

// base·2^failures of the config, at most its maximum.
std::int64_t BackoffSeconds(const api::ProvisioningRequestConfig& config, std::int32_t failures);

}  // namespace berth::provisioning

// provisioning/reactive_decider.h — decides the state of one check of reactive capacity, and its
// actions. See reactive.h. Internal to provisioning/.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/condition.h"
#include "api/provisioning_policy.h"
#include "api/reasons.h"
#include "api/workload.h"
#include "base/clock.h"
#include "base/strings.h"
#include "checks/check_event.h"
#include "provisioning/decide.h"
#include "provisioning/policy_steps.h"
#include "provisioning/reactive.h"

namespace berth::provisioning {

std::int64_t WholeSeconds(WallTime from, WallTime to);  // at least 0

// The input of the vetoes of the check's steps. `policy`: a result of WithReactiveLimit. All
// arguments must outlive the result.
VetoInput AboutReactiveSteps(const ReactiveSituation& situation, const std::string& check,
                             const api::ProvisioningPolicy& policy,
                             const api::ProvisioningMemory& memory, WallTime now);

// The settlement of the charge of an attempt that has ended with its quota: it is taken back where
// no pod got a node, else kept under an id of its own. Empty: nothing is left to do.
std::vector<Charge> SettledReactiveCharges(const ReactiveSituation& situation,
                                           const std::string& check,
                                           const api::ProvisioningMemory& memory);

// An object decides once: make one for each decision. All arguments must outlive the object.
class ReactiveDecider {
 public:
  ReactiveDecider(const ReactiveSituation& situation, const ReactiveCheck& input,
                  const api::AdmissionCheckState& before, WallTime now, Decision& out)
      : situation_(situation),
        input_(input),
        before_(before),
        state_(before),
        now_(now),
        out_(out),
        policy_(WithReactiveLimit(input.policy)),
        memory_(MemoryOf(situation, input.name)),
        flavors_(FlavorsOf(*situation.workload)),
        vetoes_(VetoesOf(AboutReactiveSteps(situation, input.name, policy_, memory_, now))),
        plan_(policy_, ReactiveConfig(), memory_, flavors_, vetoes_, StepInUse()) {}
  ReactiveDecider(const ReactiveDecider&) = delete;
  ReactiveDecider& operator=(const ReactiveDecider&) = delete;

  std::optional<api::ProvisioningMemory> Run() {
    Follow();
    if (!counted_ && out_.lessons.empty() && out_.charges.empty()) Record();
    return std::move(counted_);
  }

 private:
  static api::ProvisioningMemory MemoryOf(const ReactiveSituation& situation,
                                          const std::string& check) {
    const auto found = situation.memory.find(check);
    return found == situation.memory.end() ? api::ProvisioningMemory{} : found->second;
  }
  // A veto never ends a start that was allowed, nor the wait of placeholders.
  std::string StepInUse() const {
    if (before_.state != api::CheckState::kReady && situation_.placeholders.empty()) return "";
    const Vetoes none;
    const StepPlan plan(policy_, ReactiveConfig(), memory_, flavors_, none);
    return plan.current() == nullptr ? "" : plan.current()->name;
  }
  void Say(api::CheckState state, const std::string& message) {
    state_.state = state;
    state_.message = std::string(TruncateUtf8(message, checks::kMaxEventBytes));
  }
  void WakeIn(Duration wait) {
    if (!out_.next_wake || wait < *out_.next_wake) out_.next_wake = wait;
  }
  WallTime ReservedAt() const {
    const auto& conditions = situation_.workload->status.conditions;
    return api::FindCondition(conditions, api::kQuotaReserved)->last_transition_time;
  }

  void Follow();
  bool FollowMemory();
  void FollowVetoes();
  void Allow();
  void WarnOfPools();
  std::vector<api::PodSetUpdate> Updates() const;
  bool FollowLostPods();
  void FollowWaitingPods();
  bool HoldsNodes();
  void Count(const std::string& reason, const std::string& message, std::int64_t waited,
             bool revoked);
  bool Learn(const std::string& reason, std::int64_t waited);
  void Advise(const std::string& reason);
  bool IsObstructed();
  // The budget of the day.
  VetoInput AboutSteps() const {
    return AboutReactiveSteps(situation_, input_.name, policy_, memory_, now_);
  }
  bool SettlesCharge();
  bool TakesChargeBack();
  bool ChargesFirst();
  void WarnOfBudget();
  void Record();

  const ReactiveSituation& situation_;
  const ReactiveCheck& input_;
  const api::AdmissionCheckState& before_;
  api::AdmissionCheckState state_;
  const WallTime now_;
  Decision& out_;
  const api::ProvisioningPolicy policy_;
  const api::ProvisioningMemory memory_;
  const std::vector<std::string> flavors_;
  const Vetoes vetoes_;
  const StepPlan plan_;
  std::optional<api::ProvisioningMemory> counted_;
};

}  // namespace berth::provisioning

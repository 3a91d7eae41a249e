// What a check does about the day's budget of a LocalQueue (spend.h).
#include <algorithm>

#include "provisioning/check_decider.h"
#include "provisioning/names.h"
#include "provisioning/request_state.h"
#include "provisioning/slow_steps.h"
#include "provisioning/spend.h"

namespace berth::provisioning {

using api::ProvisioningRequest;

std::int32_t NextAttempt(const Situation& situation, const CheckInput& input,
                         const api::ProvisioningMemory& memory) {
  std::int32_t last = std::max({input.last_attempt, memory.counted_attempt, memory.warned_attempt});
  for (const api::AdmissionCheckState& state : situation.workload->status.admission_checks) {
    if (state.name == input.name) last = std::max(last, state.retry_count.value_or(0));
  }
  for (const ProvisioningRequest& request : situation.requests) {
    const auto attempt = AttemptOf(request.meta.name, situation.workload->meta.name, input.name);
    last = std::max(last, attempt.value_or(0));
  }
  return last + 1;
}

std::vector<Charge> SettledCharges(const SpendMemory& spend, const api::Workload& workload,
                                   const std::string& check, const ProvisioningRequest& request) {
  const auto attempt = AttemptOf(request.meta.name, workload.meta.name, check);
  if (!attempt) return {};
  Charge open{QueueOf(workload), DayOf(request.meta.creation_timestamp),
              ChargeId(workload, check, *attempt), 0};
  const std::int64_t amount = spend.ChargeOf(open.queue, open.day, open.id);
  if (amount == 0) return {};
  if (!api::IsTrue(request.conditions, kProvisionedCondition)) return {open};
  // A later request may get the number of this attempt again, and never its uid.
  return {open, Charge{open.queue, open.day, KeptChargeId(request.meta.uid), amount}};
}

std::set<std::string> ReplacedCharges(const Situation& situation, const CheckInput& input,
                                      const api::ProvisioningMemory& memory) {
  if (situation.spend == nullptr) return {};
  const api::Workload& workload = *situation.workload;
  std::set<std::string> ids{ChargeId(workload, input.name, NextAttempt(situation, input, memory))};
  for (const ProvisioningRequest& request : situation.requests) {
    const auto attempt = AttemptOf(request.meta.name, workload.meta.name, input.name);
    if (attempt && *attempt <= memory.counted_attempt) {
      ids.insert(ChargeId(workload, input.name, *attempt));
    }
  }
  return ids;
}

VetoInput CheckDecider::AboutSteps() const {
  VetoInput about{*input_.policy,     *input_.config,   workload_,
                  situation_.flavors, situation_.stock, now_,
                  RunOfJob(),         situation_.spend, {}};
  about.own_charges = ReplacedCharges(situation_, input_, memory_);
  about.memory = &memory_;
  return about;
}

// Adds the vetoes that were left out while a request waited: it has failed.
void CheckDecider::WeighSteps() { PassOverSlowSteps(AboutSteps(), vetoes_); }

bool CheckDecider::BudgetForbids(const api::ProvisioningStep& step) const {
  return input_.policy->budget_action == api::ProvisioningPolicy::BudgetAction::kBlock &&
         OverBudget(step, AboutSteps());
}

// Whether the cost of the request is still to be recorded: that is done, and written, before the
// request is made.
bool CheckDecider::ChargesFirst(const Branch& branch) {
  if (branch.step == nullptr || situation_.spend == nullptr) return false;
  if (!input_.policy->max_cost_per_day) return false;
  const auto cost = CostOf(*branch.step, AboutSteps());
  if (!cost || cost->nano_dollars == 0) return false;
  Charge charge{QueueOf(workload_), DayOf(now_), ChargeId(workload_, input_.name, branch.attempt),
                cost->nano_dollars};
  if (situation_.spend->Knows(charge)) return false;
  out_.charges.push_back(std::move(charge));
  return true;
}

// Whether the charge of the request is still to be taken back, or to be kept for good. That of a
// request that may still be granted is settled by the deletion of the request.
bool CheckDecider::SettlesCharge(const ProvisioningRequest& request) {
  if (situation_.spend == nullptr || MayBeGranted(request)) return false;
  auto charges = SettledCharges(*situation_.spend, workload_, input_.name, request);
  for (Charge& each : charges) out_.charges.push_back(std::move(each));
  if (!charges.empty()) return true;
  auto missing = MissingCharge(request);
  if (!missing) return false;
  out_.charges.push_back(*std::move(missing));
  return true;
}

// A request that was made when no budget was set is charged for its nodes. nullopt: nothing is
// missing.
std::optional<Charge> CheckDecider::MissingCharge(const ProvisioningRequest& request) const {
  const std::int64_t day = DayOf(request.meta.creation_timestamp);
  const api::ProvisioningStep* step = StepOf(request);
  if (step == nullptr || !input_.policy->max_cost_per_day || day != DayOf(now_) ||
      !api::IsTrue(request.conditions, kProvisionedCondition)) {
    return std::nullopt;
  }
  const auto cost = CostOf(*step, AboutSteps());
  if (!cost || cost->nano_dollars == 0) return std::nullopt;
  Charge charge{QueueOf(workload_), day, KeptChargeId(request.meta.uid), cost->nano_dollars};
  if (situation_.spend->ChargeOf(charge.queue, day, charge.id) > 0) return std::nullopt;
  return charge;
}

// Where the action is Warn, a request is made all the same, and an event says so once a request.
void CheckDecider::WarnOfBudget(const Branch& branch) {
  if (branch.step == nullptr) return;
  if (input_.policy->budget_action != api::ProvisioningPolicy::BudgetAction::kWarn) return;
  if (const auto over = OverBudget(*branch.step, AboutSteps())) {
    Add(CheckEvent{"BudgetExceeded",
                   input_.name + ": step " + branch.step->name + " " + over->message,
                   /*warning=*/true});
  }
}

}  // namespace berth::provisioning

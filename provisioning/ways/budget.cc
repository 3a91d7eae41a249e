#include "provisioning/ways/budget.h"

#include "provisioning/day_charges.h"
#include "provisioning/request_state.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningRequest;
using BudgetAction = api::ProvisioningPolicy::BudgetAction;

// A request that was made when no budget was set is charged for its nodes.
std::vector<Charge> MissingCharges(const CheckSituation& check,
                                   const ProvisioningRequest& request) {
  const std::int64_t day = DayOf(request.meta.creation_timestamp);
  const api::ProvisioningStep* step = check.StepOf(request);
  if (step == nullptr || !check.input.policy->max_cost_per_day || day != DayOf(check.now) ||
      !api::IsTrue(request.conditions, kProvisionedCondition)) {
    return {};
  }
  const auto cost = CostOf(*step, check.AboutSteps());
  if (!cost || cost->nano_dollars == 0) return {};
  Charge charge{QueueOf(check.workload), day, KeptChargeId(request.meta.uid), cost->nano_dollars};
  if (check.situation.spend->ChargeOf(charge.queue, day, charge.id) > 0) return {};
  return {std::move(charge)};
}

}  // namespace

bool BudgetForbids(const CheckSituation& check, const api::ProvisioningStep& step) {
  return check.input.policy->budget_action == BudgetAction::kBlock &&
         OverBudget(step, check.AboutSteps());
}

std::vector<Charge> ChargesBefore(const CheckSituation& check, const api::ProvisioningStep* step,
                                  std::int32_t attempt) {
  const SpendMemory* spend = check.situation.spend;
  if (step == nullptr || spend == nullptr || !check.input.policy->max_cost_per_day) return {};
  const auto cost = CostOf(*step, check.AboutSteps());
  if (!cost || cost->nano_dollars == 0) return {};
  Charge charge{QueueOf(check.workload), DayOf(check.now),
                ChargeId(check.workload, check.input.name, attempt), cost->nano_dollars};
  if (spend->Knows(charge)) return {};
  return {std::move(charge)};
}

std::vector<Charge> ChargesToSettle(const CheckSituation& check,
                                    const ProvisioningRequest& request) {
  if (check.situation.spend == nullptr || MayBeGranted(request)) return {};
  auto charges = SettledCharges(*check.situation.spend, check.workload, check.input.name, request);
  return charges.empty() ? MissingCharges(check, request) : charges;
}

std::optional<CheckEvent> BudgetWarning(const CheckSituation& check,
                                        const api::ProvisioningStep* step) {
  if (step == nullptr || check.input.policy->budget_action != BudgetAction::kWarn) {
    return std::nullopt;
  }
  const auto over = OverBudget(*step, check.AboutSteps());
  if (!over) return std::nullopt;
  return CheckEvent{"BudgetExceeded",
                    check.input.name + ": step " + step->name + " " + over->message,
                    /*warning=*/true};
}

}  // namespace berth::provisioning

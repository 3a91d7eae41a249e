// provisioning/ways/budget.h — what a check does about the day's budget of a LocalQueue (spend.h).
//
//     charge ─ written ─▶ request is made ─ nodes come ─▶ charge is kept;  else it is taken back
//
// Units: USD in billionths. Threads: pure functions. Errors: none. Source: this repository's
// specification of capacity.
#pragma once

#include <optional>
#include <vector>

#include "api/provisioning_policy.h"
#include "api/provisioning_request.h"
#include "provisioning/ways/check_situation.h"

namespace berth::provisioning {

// Whether the policy blocks a request of the step. Precondition: the check has a policy.
bool BudgetForbids(const CheckSituation& check, const api::ProvisioningStep& step);

// The cost of the request of that attempt, to be recorded and written before the request is made.
// Empty: the charge is recorded already, or nothing is charged. `step`: null: no policy.
std::vector<Charge> ChargesBefore(const CheckSituation& check, const api::ProvisioningStep* step,
                                  std::int32_t attempt);

// The charges of the request that are still to be taken back, or to be kept for good. Empty: none.
// The charge of a request that may still be granted is settled by the deletion of the request.
std::vector<Charge> ChargesToSettle(const CheckSituation& check,
                                    const api::ProvisioningRequest& request);

// The event that says that a request of the step is made although the budget is exceeded. nullopt:
// the budget is not exceeded, or the policy does not warn. `step`: null: no policy.
std::optional<CheckEvent> BudgetWarning(const CheckSituation& check,
                                        const api::ProvisioningStep* step);

}  // namespace berth::provisioning

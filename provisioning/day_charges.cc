#include "provisioning/day_charges.h"

#include "provisioning/asked_requests.h"
#include "provisioning/request_names.h"
#include "provisioning/request_state.h"

namespace berth::provisioning {

using api::ProvisioningRequest;

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

}  // namespace berth::provisioning

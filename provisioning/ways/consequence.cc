#include "provisioning/ways/consequence.h"

#include <algorithm>
#include <string>
#include <vector>

#include "provisioning/check_events.h"
#include "provisioning/ways/selection.h"

namespace berth::provisioning {
namespace {

using api::CheckState;
using api::ProvisioningRequest;

Duration Until(WallTime end, WallTime now) {
  return std::max<Duration>(end - now, Duration::zero());
}

// The request whose failure the memory counted last; null: it is gone. That may have been one that
// lost a race and was kept for others: while capacity is in use the newest one below it counts.
const ProvisioningRequest* CountedRequest(const CheckSituation& check) {
  const ProvisioningRequest* counted = nullptr;
  std::int32_t newest = 0;
  for (const ProvisioningRequest& each : check.situation.requests) {
    const auto attempt = check.AttemptOf(each);
    if (!attempt || *attempt > check.memory.counted_attempt || *attempt <= newest) continue;
    if (*attempt != check.memory.counted_attempt && !check.is_ready()) continue;
    counted = &each;
    newest = *attempt;
  }
  return counted;
}

// Retry or Rejected, where the memory says so and the request is there that it counted.
bool FollowCounted(const CheckSituation& check, Move& move) {
  using Consequence = api::ProvisioningMemory::Next;
  const api::ProvisioningMemory& memory = check.memory;
  const ProvisioningRequest* counted = CountedRequest(check);
  // A higher retryCount tells that the consequence was drawn.
  if (counted == nullptr || memory.counted_retries != check.failures()) return false;
  // A Workload that will be held gives up capacity in use first.
  const bool in_use = check.is_ready() && !counted->meta.deletion_timestamp &&
                      check.NextAttempt() == memory.counted_attempt + 1;
  const bool retries =
      memory.next == Consequence::kRetry || (memory.next == Consequence::kNothing && in_use);
  if (!retries && memory.next != Consequence::kReject) return false;
  if (!memory.outcomes.empty()) {
    move.AddIfAny(AdviceOn(check.input.name, memory.outcomes.back().reason,
                           /*has_policy=*/check.input.policy != nullptr));
  }
  if (retries) {
    move.Retry(std::max<std::int64_t>(SecondsBetween(check.now, memory.due), 0), memory.message);
  } else {
    move.Say(CheckState::kRejected, memory.message);
  }
  return true;
}

// Every step that is not used up has a veto: the Workload is rejected where no step can ever serve
// its pods, gives its quota back where a veto ends by itself, and else waits for an administrator.
void FollowVetoes(const CheckSituation& check, Move& move) {
  const StepPlan& plan = *check.plan;
  const std::vector<std::string> reasons = plan.VetoReasons();
  const std::string message =
      VetoMessage("No step may request capacity: ", plan.PassedOver(), reasons);
  if (message != check.before.message) {
    for (CheckEvent& event : AdviceOnVetoes(check.input.name, reasons, check.before.message)) {
      move.Add(std::move(event));
    }
  }
  if (plan.never_fits()) return move.Say(CheckState::kRejected, message);
  const auto end = plan.FirstVetoEnd();
  if (end && plan.waits_for_budget()) {
    move.waits_for_budget = true;
    move.WakeIn(Until(*end, check.now));
  }
  if (!end || plan.waits_for_budget()) return move.Say(CheckState::kPending, message);
  move.Retry(std::max<std::int64_t>(SecondsBetween(check.now, *end), 0) + 1, message);
}

}  // namespace

bool DrawConsequence(const CheckSituation& check, Move& move) {
  if (FollowCounted(check, move)) return true;
  const StepPlan& plan = *check.plan;
  if (plan.current() != nullptr || check.is_ready()) return false;
  if (plan.first_left() != nullptr) {
    move.Retry(0, plan.GoingOn());
  } else if (plan.some_not_used_up() && !plan.was_held()) {
    FollowVetoes(check, move);
  } else if (check.input.policy->when_exhausted == api::ProvisioningPolicy::WhenExhausted::kHold) {
    DropObsolete(check, move);  // the last one has failed
    move.Say(CheckState::kPending, check.memory.message);
    if (const auto end = plan.FirstVetoEnd()) move.WakeIn(Until(*end, check.now));
  } else {  // the policy has fewer steps than the memory, or holds nobody any more
    move.Remember(check.memory).steps.clear();
  }
  return true;
}

}  // namespace berth::provisioning

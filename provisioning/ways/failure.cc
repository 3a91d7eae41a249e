#include "provisioning/ways/failure.h"

#include <algorithm>
#include <chrono>

#include "provisioning/asked_requests.h"
#include "provisioning/late_pods.h"
#include "provisioning/request_state.h"
#include "provisioning/slow_steps.h"
#include "provisioning/ways/budget.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningRequest;
using std::chrono::seconds;

}  // namespace

std::optional<FailedRequest> FailureOf(const CheckSituation& check, const Runner& runner,
                                       Move& move) {
  const ProvisioningRequest& request = *runner.request;
  FailedRequest end{.attempt = runner.attempt, .at = check.now};
  const RequestState state = StateOf(request);
  const api::Condition* why = DecidingCondition(request);
  if (state == RequestState::kProvisioned) return std::nullopt;
  if (state == RequestState::kFailed || state == RequestState::kBookingExpired ||
      state == RequestState::kCapacityRevoked) {
    end.reason = why->reason;
    end.message = why->message;
    end.at = why->last_transition_time;
    return end;
  }
  const api::ProvisioningPolicy& policy = *check.input.policy;
  const WallTime asked = request.meta.creation_timestamp;
  const std::int64_t answer = policy.answer_timeout_seconds;
  if (state == RequestState::kUnanswered && answer > 0) {
    end.reason = kNoAnswerReason;
    end.message =
        "no controller has answered for class \"" + request.provisioning_class_name + "\"";
    if (check.now >= asked + seconds(answer)) return end;
    move.WakeIn(asked + seconds(answer) - check.now);
  }
  const StepPlan plan(policy, *check.input.config, check.memory, check.flavors, check.vetoes,
                      check.StepOf(request)->name);
  const auto left = plan.StepSecondsLeft();
  if (!left) return std::nullopt;
  // Requests of one step share its time from the first on.
  WallTime begin = asked;
  for (const Runner& each : check.runners) {
    if (check.StepOf(*each.request) == check.StepOf(request)) {
      begin = std::min(begin, each.request->meta.creation_timestamp);
    }
  }
  end.reason = kTimeoutReason;
  end.message = "no capacity within " + std::to_string(*left) + " s";
  if (check.now >= begin + seconds(*left)) return end;
  move.WakeIn(begin + seconds(*left) - check.now);
  return std::nullopt;
}

void CountFailure(const CheckSituation& check, const ProvisioningRequest& request,
                  const std::string& reason, const std::string& message, WallTime at, Move& move) {
  if (move.Book(ChargesToSettle(check, request))) return;
  const api::Condition* provisioned = api::FindCondition(request.conditions, kProvisionedCondition);
  const bool came = provisioned != nullptr && provisioned->status == api::ConditionStatus::kTrue;
  const WallTime end = came ? provisioned->last_transition_time : at;
  const std::string zone = ZoneOf(request);
  // Where several requests are for parts of the Workload, the failure of one ends all.
  std::int32_t attempt = *check.AttemptOf(request);
  for (const Runner& each : check.runners) attempt = std::max(attempt, each.attempt);
  // A request of the race whose nodes are kept for others does not serve this Workload again.
  for (const ProvisioningRequest& each : check.situation.requests) {
    const auto other = check.AttemptOf(each);
    // One that goes is not there for the consequence (consequence.h).
    const bool stays = other && HasLost(each, check.workload) && !each.meta.deletion_timestamp;
    if (stays) attempt = std::max(attempt, *other);
  }
  if (attempt <= check.memory.counted_attempt) return;
  const bool revoked = StateOf(request) == RequestState::kCapacityRevoked ||
                       reason == kLostNodesReason || reason == kCapacityEndsReason;
  const Vetoes vetoes = VetoesAfterFailure(check);
  move.memory =
      check.plan->Count({.attempt = attempt,
                         .reason = reason,
                         .message = zone.empty() ? message : "zone " + zone + ": " + message,
                         .at = at,
                         .waited_seconds = SecondsBetween(request.meta.creation_timestamp, end),
                         .revoked = revoked},
                        check.failures(), &vetoes);
}

Vetoes VetoesAfterFailure(const CheckSituation& check) {
  Vetoes vetoes = check.vetoes;
  PassOverSlowSteps(check.AboutSteps(), vetoes);
  return vetoes;
}

}  // namespace berth::provisioning

#include "provisioning/ways/follow_request.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "api/labels.h"
#include "api/provisioning_labels.h"
#include "provisioning/asked_requests.h"
#include "provisioning/check_events.h"
#include "provisioning/request_state.h"
#include "provisioning/ways/ask.h"
#include "provisioning/ways/budget.h"
#include "provisioning/ways/expiry.h"
#include "provisioning/ways/failure.h"
#include "provisioning/ways/lessons.h"
#include "provisioning/ways/pods_in_use.h"

namespace berth::provisioning {
namespace {

using api::CheckState;
using api::ProvisioningRequest;

// Retries without counting for failures that Berth or the autoscaler caused.
constexpr std::int32_t kMaxUncounted = 3;

// Where the cloud made nodes in further zones, too, the pods go to those of the chosen zone: the
// request keeps no others.
void KeepToItsZone(const CheckSituation& check, const ProvisioningRequest& request,
                   std::vector<api::PodSetUpdate>& updates, Move& move) {
  const std::string* zones =
      api::FindValue(request.provisioning_class_details, "OverprovisionedZones");
  if (!check.plan || zones == nullptr || zones->empty()) return;
  const std::string* chosen = api::FindValue(request.provisioning_class_details, "SelectedZone");
  for (api::PodSetUpdate& update : updates) {
    if (chosen != nullptr) update.node_selector[api::kZoneLabel] = *chosen;
  }
  move.Add(CheckEvent{"OverprovisionedZones",
                      check.input.name + ": nodes came in " + *zones +
                          ", too; the job uses those in " +
                          (chosen == nullptr ? "one zone" : *chosen) +
                          ", and the cloud removes the others when they have been idle",
                      /*warning=*/true});
}

// The nodes have come: the check becomes Ready, and the pods get what lets them use the nodes.
void UseNodes(const CheckSituation& check, const ProvisioningRequest& request, Move& move) {
  api::ProvisioningRequestConfig config = check.config();
  // Divided pods share one node selector: nodes of later parts have other names, the same labels.
  if (IsDivided(request)) config.node_selector_updates.clear();
  std::vector<api::PodSetUpdate> updates =
      PodSetUpdates(check.workload, check.groups, request, config, check.Updates());
  KeepToItsZone(check, request, updates, move);
  move.Ready(DecidingCondition(request)->message, std::move(updates));
}

// `prefix`: what the message of a retry begins with.
void FollowFailure(const CheckSituation& check, const ProvisioningRequest& request,
                   const char* prefix, Move& move) {
  const api::Condition& why = *DecidingCondition(request);
  const bool templates_missing =
      why.reason == "FailedToCreatePods" || why.reason == "MissingPodTemplates";
  const std::int32_t counted = std::max(check.failures(), check.memory.counted_attempt);
  if (templates_missing && !check.admitted() &&
      *check.AttemptOf(request) <= counted + kMaxUncounted) {
    if (move.Book(ChargesToSettle(check, request))) return;
    move.Add(DeleteRequest{request.meta.name});
    return Ask(check, move);
  }
  if (check.plan) {
    return CountFailure(check, request, why.reason, why.message, why.last_transition_time, move);
  }
  move.AddIfAny(
      AdviceOn(check.input.name, why.reason, /*has_policy=*/check.input.policy != nullptr));
  if (check.failures() >= check.input.config->backoff_limit_count) {
    return move.Say(CheckState::kRejected, why.message);
  }
  const std::int64_t delay = BackoffSeconds(*check.input.config, check.failures());
  const std::int64_t passed = SecondsBetween(why.last_transition_time, check.now);
  move.Retry(std::clamp<std::int64_t>(delay - passed, 0, delay), prefix + why.message);
}

void FollowRevoked(const CheckSituation& check, const ProvisioningRequest& request, Move& move) {
  const api::Condition& why = *DecidingCondition(request);
  if (!check.workload.spec.active) return;
  if (check.plan &&
      check.input.policy->on_revoked == api::ProvisioningPolicy::OnRevoked::kRequeue) {
    return CountFailure(check, request, why.reason, why.message, why.last_transition_time, move);
  }
  move.Say(CheckState::kRejected, why.message);
}

// Whether the waiting time of the policy's step is used up; its end wakes the Workload.
bool WaitedTooLong(const CheckSituation& check, const ProvisioningRequest& request, Move& move) {
  const std::optional<std::int64_t> left = !check.plan     ? std::nullopt
                                           : check.Races() ? check.plan->StepSecondsLeft()
                                                           : check.plan->SecondsLeft();
  if (!left) return false;
  const WallTime end = request.meta.creation_timestamp + std::chrono::seconds(*left);
  if (check.now < end) {
    move.WakeIn(end - check.now);
    return false;
  }
  if (move.Learn(LessonOf(check, request, kTimeoutReason, check.now))) return true;
  CountFailure(check, request, kTimeoutReason, "no capacity within " + std::to_string(*left) + " s",
               check.now, move);
  return true;
}

}  // namespace

void FollowRequest(const CheckSituation& check, const ProvisioningRequest& request, Move& move) {
  const RequestState state = StateOf(request);
  if (move.Learn(LessonFrom(check, request))) return;
  const bool in_use = state == RequestState::kProvisioned || state == RequestState::kBookingExpired;
  if (in_use && check.is_ready()) {
    if (GuardExpiry(check, request, move) || GiveUpForPods(check, request, move)) return;
  }
  switch (state) {
    case RequestState::kFailed:
      return FollowFailure(check, request, "Retrying after failure: ", move);
    case RequestState::kCapacityRevoked: return FollowRevoked(check, request, move);
    case RequestState::kBookingExpired:
      // The regular end of a booking that is in use.
      if (check.admitted()) return;
      return FollowFailure(check, request, "Retrying after booking expired: ", move);
    case RequestState::kProvisioned:
      if (check.is_ready() || move.Book(ChargesToSettle(check, request))) return;
      return UseNodes(check, request, move);
    default: break;
  }
  if (check.is_ready() || WaitedTooLong(check, request, move)) return;
  if (AskAgainIfOvertaken(check, request, move)) return;
  CompleteTemplates(check, request, check.groups, move);
  WaitFor(check, request, move);
}

void WaitFor(const CheckSituation& check, const ProvisioningRequest& request, Move& move) {
  const api::Condition* why = DecidingCondition(request);
  const bool asked_again = check.memory.next == api::ProvisioningMemory::Next::kAsk;
  const std::string quiet = asked_again ? check.memory.message : "";
  if (why != nullptr) {
    // The reason that the cloud gives for the wait; "not accepted yet" carries no information.
    const bool telling =
        why->type == kProvisionedCondition ||
        (why->status == api::ConditionStatus::kFalse && why->reason != "NotAccepted");
    return move.Say(CheckState::kPending, telling ? why->message : quiet);
  }
  const Duration silent = check.now - request.meta.creation_timestamp;
  const std::string unanswered =
      "no controller has answered for class \"" + request.provisioning_class_name + "\"";
  const Duration limit =
      std::chrono::seconds(check.plan ? check.input.policy->answer_timeout_seconds : 0);
  if (limit > Duration::zero() && silent >= limit) {
    return CountFailure(check, request, kNoAnswerReason, unanswered, check.now, move);
  }
  if (limit > Duration::zero()) move.WakeIn(limit - std::max(silent, Duration::zero()));
  const Duration patience = check.options.answer_timeout;
  if (silent >= patience) return move.Say(CheckState::kPending, unanswered);
  move.WakeIn(patience - std::max(silent, Duration::zero()));
  move.Say(CheckState::kPending, quiet);
}

}  // namespace berth::provisioning

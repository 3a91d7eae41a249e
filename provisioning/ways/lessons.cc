#include "provisioning/ways/lessons.h"

#include <algorithm>
#include <chrono>

#include "provisioning/asked_requests.h"
#include "provisioning/gang.h"
#include "provisioning/request_state.h"
#include "provisioning/stock.h"
#include "provisioning/ways/budget.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningRequest;

constexpr std::int32_t kMostAskedAgain = 3;

// The reason that the cloud gave while the request waited.
std::string_view WaitedFor(const ProvisioningRequest& request) {
  const api::Condition* wait = api::FindCondition(request.conditions, kProvisionedCondition);
  if (wait == nullptr || wait->status == api::ConditionStatus::kTrue) return "";
  return wait->reason;
}

std::int64_t SecondsWaited(const ProvisioningRequest& request, WallTime end) {
  return std::max<std::int64_t>(SecondsBetween(request.meta.creation_timestamp, end), 0);
}

std::optional<api::StockKey> StockKeyFor(const CheckSituation& check,
                                         const ProvisioningRequest& request) {
  const api::ProvisioningStep* step = check.StepOf(request);
  return StockKeyOf(check.workload, check.config(), step == nullptr ? "" : step->flavor,
                    check.flavors, ZoneOf(request));
}

}  // namespace

std::optional<StockLesson> LessonOf(const CheckSituation& check, const ProvisioningRequest& request,
                                    const std::string& reason, WallTime at) {
  const StockMemory* stock = check.situation.stock;
  if (stock == nullptr || request.meta.uid.empty()) return std::nullopt;
  const auto result = reason.empty() ? std::optional(api::StockResult::kGranted)
                                     : ResultOf(reason, WaitedFor(request));
  const auto key = StockKeyFor(check, request);
  if (!result || !key) return std::nullopt;
  StockLesson lesson{.provisioning_class = request.provisioning_class_name, .key = *key};
  lesson.outcome = {
      .id = StockId(request.meta.uid),
      .asked_at = CutToSeconds(request.meta.creation_timestamp),
      .wait_seconds = SecondsWaited(request, at),
      .pods = IsDivided(request) ? PodsOf(request) : GangOf(check.workload, check.config()).pods(),
      .result = *result};
  lesson.reason = reason;
  lesson.at = at;
  if (stock->Knows(lesson)) return std::nullopt;
  return lesson;
}

std::optional<StockLesson> LessonFrom(const CheckSituation& check,
                                      const ProvisioningRequest& request) {
  const RequestState state = StateOf(request);
  const bool ended = state == RequestState::kFailed || state == RequestState::kProvisioned;
  if (check.is_ready() || !ended) return std::nullopt;
  const api::Condition& why = *DecidingCondition(request);
  return LessonOf(check, request, state == RequestState::kProvisioned ? "" : why.reason,
                  why.last_transition_time);
}

bool AskAgainIfOvertaken(const CheckSituation& check, const ProvisioningRequest& request,
                         Move& move) {
  const std::int64_t limit = check.plan ? check.input.policy->stuck_after_seconds : 0;
  const StockMemory* stock = check.situation.stock;
  if (limit == 0 || stock == nullptr || check.memory.asked_again >= kMostAskedAgain) return false;
  const WallTime end = request.meta.creation_timestamp + std::chrono::seconds(limit);
  if (check.now < end) {
    move.WakeIn(end - check.now);
    return false;
  }
  const auto key = StockKeyFor(check, request);
  if (!key || !stock->Overtaken(request.provisioning_class_name, *key, StockId(request.meta.uid),
                                request.meta.creation_timestamp)) {
    return false;
  }
  if (move.Book(ChargesToSettle(check, request))) return true;
  move.memory = check.plan->AskAgain(
      {.attempt = *check.AttemptOf(request),
       .reason = kOvertakenReason,
       .message = "a later request was granted within " + std::to_string(limit) + " s",
       .at = check.now,
       .waited_seconds = SecondsWaited(request, check.now)},
      check.failures());
  return true;
}

}  // namespace berth::provisioning

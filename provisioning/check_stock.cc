// What a check learns from the outcome of a request, and from the outcomes of others (stock.h).
#include <algorithm>
#include <chrono>

#include "api/labels.h"
#include "provisioning/check_decider.h"
#include "provisioning/names.h"
#include "provisioning/race.h"
#include "provisioning/stock.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningRequest;
using std::chrono::seconds;

constexpr std::int32_t kMostAskedAgain = 3;

// The reason that the cloud gave while the request waited.
std::string_view WaitedFor(const ProvisioningRequest& request) {
  const api::Condition* wait = api::FindCondition(request.conditions, kProvisionedCondition);
  if (wait == nullptr || wait->status == api::ConditionStatus::kTrue) return "";
  return wait->reason;
}

std::int64_t SecondsFrom(WallTime from, WallTime to) {
  return std::max<std::int64_t>(std::chrono::duration_cast<seconds>(to - from).count(), 0);
}

}  // namespace

std::string AskedStep(const Situation& situation, const std::string& check, std::int32_t counted) {
  std::int32_t best = counted;  // the attempt that began the race, else that of the request
  std::int32_t lead = INT32_MAX;
  std::string step;
  for (const ProvisioningRequest& request : situation.requests) {
    const auto attempt = AttemptOf(request.meta.name, situation.workload->meta.name, check);
    const std::string* asked =
        api::FindValue(request.meta.annotations, api::kProvisioningStepAnnotation);
    if (!attempt || *attempt <= counted || asked == nullptr || request.meta.deletion_timestamp ||
        HasLost(request, *situation.workload)) {
      continue;
    }
    const std::int32_t order = std::max(RaceOf(request), RaceOf(request) == 0 ? *attempt : 0);
    if (order < best || (order == best && *attempt > lead)) continue;
    best = order;
    lead = *attempt;
    step = *asked;
  }
  return step;
}

bool HasLiveRequest(const Situation& situation, const std::string& check, std::int32_t counted) {
  const auto& states = situation.workload->status.admission_checks;
  // Nodes outlive the booking of a request in use.
  const bool in_use = std::any_of(states.begin(), states.end(), [&check](const auto& each) {
    return each.name == check && each.state == api::CheckState::kReady;
  });
  return std::any_of(situation.requests.begin(), situation.requests.end(),
                     [&](const ProvisioningRequest& request) {
                       const auto attempt =
                           AttemptOf(request.meta.name, situation.workload->meta.name, check);
                       const RequestState state = StateOf(request);
                       return attempt && *attempt > counted && !request.meta.deletion_timestamp &&
                              (IsOpen(state) || state == RequestState::kProvisioned ||
                               (in_use && state == RequestState::kBookingExpired)) &&
                              !HasLost(request, *situation.workload);
                     });
}

// Whether the request has an outcome that is not recorded yet.
bool CheckDecider::LearnFrom(const ProvisioningRequest& request, RequestState state) {
  if (state_.state == api::CheckState::kReady) return false;
  if (state != RequestState::kFailed && state != RequestState::kProvisioned) return false;
  const api::Condition& why = *DecidingCondition(request);
  return Learn(request, state == RequestState::kProvisioned ? "" : why.reason,
               why.last_transition_time);
}

std::optional<api::StockKey> CheckDecider::StockKeyFor(const ProvisioningRequest& request) const {
  const api::ProvisioningStep* step = StepOf(request);
  return StockKeyOf(workload_, config(), step == nullptr ? "" : step->flavor, flavors_,
                    ZoneOf(request));
}

// An empty reason means that the nodes came.
bool CheckDecider::Learn(const ProvisioningRequest& request, const std::string& reason,
                         WallTime at) {
  if (situation_.stock == nullptr || request.meta.uid.empty()) return false;
  const auto result = reason.empty() ? std::optional(api::StockResult::kGranted)
                                     : ResultOf(reason, WaitedFor(request));
  const auto key = StockKeyFor(request);
  if (!result || !key) return false;
  StockLesson lesson{.provisioning_class = request.provisioning_class_name, .key = *key};
  lesson.outcome = {
      .id = StockId(request.meta.uid),
      .asked_at = CutToSeconds(request.meta.creation_timestamp),
      .wait_seconds = SecondsFrom(request.meta.creation_timestamp, at),
      .pods = IsDivided(request) ? PodsOf(request) : GangOf(workload_, config()).pods(),
      .result = *result};
  lesson.reason = reason;
  lesson.at = at;
  if (situation_.stock->Knows(lesson)) return false;
  out_.lessons.push_back(std::move(lesson));
  return true;
}

// Whether the policy lets one more request be open.
bool CheckDecider::HasRoom(const Branch& branch) {
  if (situation_.flow == nullptr || branch.step == nullptr) return true;
  const FlowWait wait{
      .lane = LaneOf(WithStep(*input_.config, *branch.step).provisioning_class_name, flavors_),
      .limit = input_.policy->max_in_flight};
  if (situation_.flow->MayAsk(wait, FlowPlaceOf(workload_))) return true;
  out_.waits = wait;
  return false;
}

// A request that waits while a later one for the same machines was granted is asked for again, with
// the quota that is held.
bool CheckDecider::LostItsPlace(const ProvisioningRequest& request) {
  const std::int64_t limit = plan_ ? input_.policy->stuck_after_seconds : 0;
  if (limit == 0 || situation_.stock == nullptr || memory_.asked_again >= kMostAskedAgain) {
    return false;
  }
  const WallTime end = request.meta.creation_timestamp + seconds(limit);
  if (now_ < end) {
    WakeIn(end - now_);
    return false;
  }
  const auto key = StockKeyFor(request);
  if (!key ||
      !situation_.stock->Overtaken(request.provisioning_class_name, *key, StockId(request.meta.uid),
                                   request.meta.creation_timestamp)) {
    return false;
  }
  if (SettlesCharge(request)) return true;
  counted_ = plan_->AskAgain(
      {.attempt = *AttemptOf(request.meta.name, workload_.meta.name, input_.name),
       .reason = kOvertakenReason,
       .message = "a later request was granted within " + std::to_string(limit) + " s",
       .at = now_,
       .waited_seconds = SecondsFrom(request.meta.creation_timestamp, now_)},
      failures());
  return true;
}

}  // namespace berth::provisioning

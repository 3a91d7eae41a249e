#include "provisioning/ways/split.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/rfc3339.h"
#include "provisioning/asked_requests.h"
#include "provisioning/request_state.h"
#include "provisioning/ways/ask.h"
#include "provisioning/ways/budget.h"
#include "provisioning/ways/failure.h"
#include "provisioning/ways/follow_request.h"
#include "provisioning/ways/request_parts.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningRequest;

// The newest first: the end of capacity that all parts share is emitted once.
void FollowPartsInUse(const CheckSituation& check, Move& move) {
  for (auto each = check.runners.rbegin(); each != check.runners.rend(); ++each) {
    if (move.state.state != api::CheckState::kReady) return;
    FollowRequest(check, *each->request, move);
  }
}

// The nodes that came are kept for a while: the others may follow.
void HoldParts(const CheckSituation& check, WallTime first, std::size_t came,
               const ProvisioningRequest& waiting, Move& move) {
  const std::int64_t hold = check.input.policy->split->hold_seconds;
  const WallTime end = first + std::chrono::seconds(hold);
  const std::string held = std::to_string(came) + " of " + std::to_string(check.parts.size()) +
                           " groups of pods have nodes";
  if (check.now >= end) {
    return CountFailure(check, waiting, kGangPartialReason,
                        held + ", the others had none within " + std::to_string(hold) + " s",
                        check.now, move);
  }
  move.WakeIn(end - check.now);
  move.Say(api::CheckState::kPending, held + " and keep them until " + FormatTime(end));
}

// Each pod set gets the updates of its own request, in the order of the Workload.
void JoinParts(const CheckSituation& check, Move& move) {
  bool settles = false;
  for (const Runner& each : check.runners) {
    settles = move.Book(ChargesToSettle(check, *each.request)) || settles;
  }
  if (settles) return;
  std::vector<api::PodSetUpdate> updates;
  for (const Runner& each : check.runners) {
    for (api::PodSetUpdate& update :
         PodSetUpdates(check.workload, GroupsOf(check, *each.request), *each.request,
                       check.config(), check.Updates())) {
      updates.push_back(std::move(update));
    }
  }
  std::vector<api::PodSetUpdate> ordered;
  for (const api::PodSet& pods : check.workload.spec.pod_sets) {
    for (api::PodSetUpdate& update : updates) {
      if (update.name == pods.name) ordered.push_back(std::move(update));
    }
  }
  move.Ready(DecidingCondition(*check.current())->message, std::move(ordered));
}

}  // namespace

void FollowParts(const CheckSituation& check, Move& move) {
  if (check.is_ready()) return FollowPartsInUse(check, move);
  const ProvisioningRequest* waiting = nullptr;
  std::optional<WallTime> first;
  std::size_t came = 0;
  for (const Runner& each : check.runners) {
    if (const auto end = FailureOf(check, each, move)) {
      return CountFailure(check, *each.request, end->reason, end->message, end->at, move);
    }
    const auto granted = GrantedAt(*each.request);
    if (granted) {
      ++came;
      first = std::min(first.value_or(*granted), *granted);
    } else if (waiting == nullptr) {
      waiting = each.request;
    }
  }
  // One was deleted, or the controller ended before it was made.
  if (const auto missing = MissingParts(check); !missing.empty()) {
    return AskForParts(check,
                       {.step = check.plan->current(),
                        .zone = ZoneOf(*check.current()),
                        .attempt = check.NextAttempt()},
                       missing, move);
  }
  if (waiting == nullptr) return JoinParts(check, move);
  for (const Runner& each : check.runners) {
    if (GrantedAt(*each.request)) continue;
    CompleteTemplates(check, *each.request, GroupsOf(check, *each.request), move);
  }
  if (first) return HoldParts(check, *first, came, *waiting, move);
  WaitFor(check, *waiting, move);
}

}  // namespace berth::provisioning

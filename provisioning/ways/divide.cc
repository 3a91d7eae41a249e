#include "provisioning/ways/divide.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "provisioning/asked_requests.h"
#include "provisioning/request_state.h"
#include "provisioning/ways/ask.h"
#include "provisioning/ways/follow_request.h"
#include "provisioning/ways/lessons.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningRequest;

constexpr std::int64_t kMostDoublings = 16;

// The pods that have not finished.
std::int64_t PodsThatRemain(const CheckSituation& check) {
  std::int64_t pods = check.groups.empty() ? 0 : check.groups.front().count;
  for (const api::ReclaimablePod& each : check.workload.status.reclaimable_pods) {
    pods -= each.count;
  }
  return std::max<std::int64_t>(pods, 0);
}

// Makes the request of the next part, for at most `pods` pods, when its turn has come. `failed`:
// the newest request that failed, after `failures` ones in a row; null: none.
void AskForMore(const CheckSituation& check, std::int64_t pods, std::int64_t failures,
                const ProvisioningRequest* failed, Move& move) {
  const api::ProvisioningStep* step = check.plan ? check.plan->current() : nullptr;
  if (check.first.empty() || pods <= 0 || step == nullptr) {
    if (failed != nullptr) move.Add(DeleteRequest{failed->meta.name});
    return;
  }
  const WallTime now = check.now;
  if (failed != nullptr) {
    const auto doublings = std::clamp<std::int64_t>(failures - 1, 0, kMostDoublings);
    const WallTime due = DecidingCondition(*failed)->last_transition_time +
                         std::chrono::seconds(BackoffSeconds(*check.input.config,
                                                             static_cast<std::int32_t>(doublings)));
    if (now < due) return move.WakeIn(due - now);
  }
  if (const Veto* veto = check.VetoOf(*step)) {
    if (veto->until) move.WakeIn(std::max<Duration>(*veto->until - now, Duration::zero()));
    return;
  }
  Branch branch{.step = step, .zone = ZoneOf(*check.current()), .attempt = check.NextAttempt()};
  if (auto wait = WaitForRoom(check, branch)) {
    move.waits = std::move(wait);
    return;
  }
  if (failed != nullptr) move.Add(DeleteRequest{failed->meta.name});
  Part part = check.first;
  part.front().count = static_cast<std::int32_t>(std::min<std::int64_t>(part.front().count, pods));
  branch.part = &part;
  AskIn(check, branch, move);
}

}  // namespace

void FollowDivided(const CheckSituation& check, Move& move) {
  const std::vector<Runner>& runners = check.runners;
  const ProvisioningRequest* open = nullptr;
  const ProvisioningRequest* failed = nullptr;
  std::int64_t have = 0;
  std::int64_t failures = runners.back().attempt - runners.front().attempt + 1;
  bool learnt = false;
  for (const Runner& each : runners) {
    const ProvisioningRequest& request = *each.request;
    const RequestState state = StateOf(request);
    if (state == RequestState::kFailed) {
      const api::Condition& why = *DecidingCondition(request);
      learnt = move.Learn(LessonOf(check, request, why.reason, why.last_transition_time)) || learnt;
      failed = &request;
      continue;
    }
    have += PodsOf(request);
    if (IsOpen(state)) {
      open = &request;
      continue;
    }
    if (const auto granted = GrantedAt(request)) {
      learnt = move.Learn(LessonOf(check, request, "", *granted)) || learnt;
    }
    --failures;
    if (move.state.state == api::CheckState::kReady && !move.memory) {
      FollowRequest(check, request, move);
    }
  }
  if (learnt || move.memory || move.state.state != api::CheckState::kReady) return;
  if (open != nullptr) return CompleteTemplates(check, *open, check.groups, move);
  AskForMore(check, PodsThatRemain(check) - have, failures, failed, move);
}

}  // namespace berth::provisioning

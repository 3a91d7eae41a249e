#include "provisioning/ways/race_steps.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "provisioning/asked_requests.h"
#include "provisioning/request_state.h"
#include "provisioning/ways/ask.h"
#include "provisioning/ways/budget.h"
#include "provisioning/ways/failure.h"
#include "provisioning/ways/follow_request.h"
#include "provisioning/ways/lessons.h"
#include "provisioning/ways/surplus.h"
#include "provisioning/zones.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningRace;
using api::ProvisioningRequest;
using api::ProvisioningStep;

// The step and the zone of the race's next request. A null step: the race takes no further one.
Branch NextBranch(const CheckSituation& check) {
  std::vector<std::string> zones;
  std::vector<std::string> steps;
  for (const Runner& each : check.runners) {
    zones.push_back(ZoneOf(*each.request));
    steps.push_back(StepNameOf(*each.request));
  }
  const ProvisioningStep* step = nullptr;
  if (check.input.policy->race->over == ProvisioningRace::Over::kZones) {
    step = check.plan->current();
    if (check.plan->AttemptsLeft(*step) <= static_cast<std::int32_t>(check.runners.size())) {
      return {};
    }
    std::string zone = NextZone(*step, check.AboutSteps(), check.FailedAttempts(*step), zones);
    if (zone.empty()) return {};
    return {.step = step, .zone = std::move(zone)};
  }
  for (const ProvisioningStep* each : check.plan->Left()) {
    const bool runs = std::find(steps.begin(), steps.end(), each->name) != steps.end();
    if (!runs && step == nullptr) step = each;
  }
  if (step == nullptr) return {};
  return {.step = step, .zone = NextZone(*step, check.AboutSteps(), check.FailedAttempts(*step))};
}

// Makes the next request of the race when it is due. `open`: how many requests wait.
void StartNext(const CheckSituation& check, std::int32_t open, Move& move) {
  const ProvisioningRace& race = *check.input.policy->race;
  const Runner& newest = check.runners.back();
  // A request that was made when the policy had no race keeps its place, and waits alone.
  if (open >= race.width || RaceOf(*newest.request) == 0) return;
  Branch branch = NextBranch(check);
  if (branch.step == nullptr) return;
  const WallTime due =
      FailureOf(check, newest, move)
          ? check.now
          : newest.request->meta.creation_timestamp + std::chrono::seconds(race.stagger_seconds);
  if (check.now < due) return move.WakeIn(due - check.now);
  branch.attempt = check.NextAttempt();
  branch.race = RaceOf(*newest.request);
  if (BudgetForbids(check, *branch.step)) return;
  if (auto wait = WaitForRoom(check, branch)) {
    move.waits = std::move(wait);
    return;
  }
  if (move.Book(ChargesBefore(check, branch.step, branch.attempt))) return;
  AskIn(check, branch, move);
}

bool SettleAll(const CheckSituation& check, Move& move) {
  bool settles = false;
  for (const Runner& each : check.runners) {
    settles = move.Book(ChargesToSettle(check, *each.request)) || settles;
  }
  return settles;
}

// The check becomes Ready with the winner, and the others go in the same pass.
void EndRace(const CheckSituation& check, const Runner& winner, Move& move) {
  if (SettleAll(check, move)) return;
  for (const Runner& each : check.runners) {
    if (each.request != winner.request) DropLoser(check, *each.request, move);
  }
  FollowRequest(check, *winner.request, move);
}

// Gives the failure of the runner `at` the time of the race where it is the last one of its step,
// and its zone.
void Complete(const CheckSituation& check, std::size_t at, std::vector<FailedRequest>& ends) {
  const ProvisioningRequest& request = *check.runners[at].request;
  const ProvisioningStep* step = check.StepOf(request);
  WallTime begin = request.meta.creation_timestamp;
  WallTime last = ends[at].at;
  bool last_of_step = true;
  for (std::size_t other = 0; other < ends.size(); ++other) {
    const ProvisioningRequest& beside = *check.runners[other].request;
    if (check.StepOf(beside) != step) continue;
    begin = std::min(begin, beside.meta.creation_timestamp);
    last = std::max(last, ends[other].at);
    last_of_step = last_of_step && other <= at;
  }
  if (last_of_step) ends[at].waited_seconds = SecondsBetween(begin, last);
  const std::string zone = ZoneOf(request);
  if (!zone.empty()) ends[at].message = "zone " + zone + ": " + ends[at].message;
}

// Every request has failed: each is a failed attempt of its step. The time of the race counts once
// for each step.
void LoseRace(const CheckSituation& check, std::vector<FailedRequest> ends, Move& move) {
  bool learnt = false;
  for (std::size_t at = 0; at < ends.size(); ++at) {
    if (ends[at].reason != kTimeoutReason) continue;
    const ProvisioningRequest& request = *check.runners[at].request;
    learnt = move.Learn(LessonOf(check, request, kTimeoutReason, check.now)) || learnt;
  }
  if (SettleAll(check, move) || learnt) return;
  const Vetoes vetoes = VetoesAfterFailure(check);
  api::ProvisioningMemory memory = check.memory;
  for (std::size_t at = 0; at < ends.size(); ++at) {
    Complete(check, at, ends);
    const api::ProvisioningMemory earlier = memory;
    const StepPlan plan(*check.input.policy, *check.input.config, earlier, check.flavors, vetoes,
                        check.StepOf(*check.runners[at].request)->name);
    // A request whose time is over is left until the race ends; that does not count.
    if (const auto left = plan.StepSecondsLeft()) {
      ends[at].waited_seconds = std::min(ends[at].waited_seconds, std::max<std::int64_t>(*left, 0));
    }
    memory = plan.Count(ends[at], check.failures());
  }
  move.memory = std::move(memory);
}

// What the check does about the only request of a race, which others may join.
void FollowSingle(const CheckSituation& check, Move& move) {
  const Runner& only = check.runners.front();
  if (!FailureOf(check, only, move) && !GrantedAt(*only.request)) {
    StartNext(check, /*open=*/1, move);
  }
  FollowRequest(check, *only.request, move);
}

}  // namespace

void FollowRace(const CheckSituation& check, Move& move) {
  if (check.runners.size() == 1) return FollowSingle(check, move);
  bool learnt = false;
  for (const Runner& each : check.runners) {
    learnt = move.Learn(LessonFrom(check, *each.request)) || learnt;
  }
  if (learnt) return;
  if (const Runner* winner = WinnerOf(check.runners)) return EndRace(check, *winner, move);
  std::vector<FailedRequest> ends;
  std::vector<const ProvisioningRequest*> waiting;
  for (const Runner& each : check.runners) {
    if (auto end = FailureOf(check, each, move)) {
      ends.push_back(*std::move(end));
    } else {
      waiting.push_back(each.request);
    }
  }
  if (waiting.empty()) return LoseRace(check, std::move(ends), move);
  // A request that has waited for its step's time may still be granted until the race ends.
  StartNext(check,
            static_cast<std::int32_t>(
                std::count_if(check.runners.begin(), check.runners.end(),
                              [](const Runner& each) { return IsOpen(StateOf(*each.request)); })),
            move);
  for (const ProvisioningRequest* each : waiting) {
    CompleteTemplates(check, *each, check.groups, move);
  }
  WaitFor(check, *waiting.front(), move);
}

}  // namespace berth::provisioning

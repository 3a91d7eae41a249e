// What a check does while several requests race for its Workload (race.h).
#include <algorithm>
#include <chrono>

#include "api/labels.h"
#include "provisioning/check_decider.h"
#include "provisioning/money.h"
#include "provisioning/names.h"
#include "provisioning/race.h"
#include "provisioning/request_state.h"
#include "provisioning/zones.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningRace;
using api::ProvisioningRequest;
using api::ProvisioningStep;
using std::chrono::seconds;

std::int64_t SecondsSince(WallTime from, WallTime to) {
  return std::chrono::duration_cast<seconds>(to - from).count();
}

std::string StepNameOf(const ProvisioningRequest& request) {
  const std::string* name =
      api::FindValue(request.meta.annotations, api::kProvisioningStepAnnotation);
  return name == nullptr ? "" : *name;
}

}  // namespace

// In a race over steps each request has a step of its own.
const ProvisioningStep* CheckDecider::StepOf(const ProvisioningRequest& request) const {
  if (!plan_) return nullptr;
  const ProvisioningStep* step = RaceOf(request) == 0 ? nullptr : plan_->Find(StepNameOf(request));
  return step == nullptr ? plan_->current() : step;
}

// Whether each of several requests is made by Berth; the cloud may race with one.
bool CheckDecider::Races() const {
  return plan_ && input_.policy->race && input_.policy->race->width > 1;
}

// How long the request may wait; nullopt: without limit. Requests of a race share no time.
std::optional<std::int64_t> CheckDecider::SecondsFor(const Branch& branch) const {
  if (branch.step == nullptr) return std::nullopt;
  if (branch.race == 0) return plan_->SecondsLeft();
  const StepPlan plan(*input_.policy, *input_.config, memory_, flavors_, vetoes_,
                      branch.step->name);
  std::optional<std::int64_t> left = plan.StepSecondsLeft();
  for (const Runner& each : runners_) {
    const bool same = left && StepOf(*each.request) == branch.step;
    const WallTime begin = each.request->meta.creation_timestamp;
    if (same) left = std::min(*left, *plan.StepSecondsLeft() - SecondsSince(begin, now_));
  }
  return left ? std::optional(std::max<std::int64_t>(*left, 1)) : left;
}

// A step without zones may let the cloud look in all its zones at once.
void CheckDecider::SearchZones(const Branch& branch, ProvisioningRequest& request) const {
  if (branch.step == nullptr) return;
  const bool selects = std::any_of(groups_.begin(), groups_.end(), [](const PodSetGroup& group) {
    return group.pod_template.spec.node_selector.count(api::kZoneLabel) != 0;
  });
  if (!RacesInTheCloud(*branch.step, request.provisioning_class_name, selects, AboutSteps())) {
    return;
  }
  request.parameters.emplace(kSearchStrategyParameter, kObtainability);
}

// Keeps those `candidates` that are in the race of the newest: the others are obsolete. A check
// that is Ready keeps the request that its podSetUpdates name. Where the policy has no race any
// more one request of a race goes on.
void CheckDecider::ChooseRunners(std::vector<Runner> candidates) {
  std::sort(candidates.begin(), candidates.end(),
            [](const Runner& a, const Runner& b) { return a.attempt < b.attempt; });
  if (candidates.empty()) return;
  if (ChooseDivided(candidates) || ChooseParts(candidates)) return;
  const Runner newest = candidates.back();
  const std::int32_t race = RaceOf(*newest.request);
  if (race == 0) candidates = {newest};
  std::erase_if(candidates, [race](const Runner& each) { return RaceOf(*each.request) != race; });
  if (state_.state == api::CheckState::kReady && race != 0) {
    const std::string winner = NamedWinner(state_.pod_set_updates);
    std::erase_if(candidates,
                  [&winner](const Runner& each) { return each.request->meta.name != winner; });
  } else if (!Races() && race != 0) {
    const Runner* granted = WinnerOf(candidates);
    candidates = {granted == nullptr ? newest : Runner(*granted)};
  }
  runners_ = std::move(candidates);
  if (!runners_.empty()) current_ = runners_.front().request;
}

bool CheckDecider::IsKept(const ProvisioningRequest& request) const {
  return std::any_of(runners_.begin(), runners_.end(),
                     [&request](const Runner& each) { return each.request == &request; });
}

void CheckDecider::FollowRequests() {
  if (state_.state == api::CheckState::kReady && IsDivided(*current_)) return FollowDivided();
  if (Splits() || (runners_.size() > 1 && state_.state == api::CheckState::kReady)) {
    return FollowParts();
  }
  if (state_.state == api::CheckState::kReady || !Races()) return FollowRequest(*current_);
  if (runners_.size() == 1) {
    if (!FailureOf(runners_.front()) && !GrantedAt(*current_)) StartNext(/*open=*/1);
    return FollowRequest(*current_);
  }
  bool learnt = false;
  for (const Runner& each : runners_) {
    learnt = LearnFrom(*each.request, StateOf(*each.request)) || learnt;
  }
  if (learnt) return;
  if (const Runner* winner = WinnerOf(runners_)) return EndRace(*winner);
  std::vector<FailedRequest> ends;
  std::vector<const Runner*> waiting;
  for (const Runner& each : runners_) {
    auto end = FailureOf(each);
    if (!end) waiting.push_back(&each);
    if (end) ends.push_back(*std::move(end));
  }
  if (waiting.empty()) return LoseRace(std::move(ends));
  // A request that has waited for its step's time may still be granted until the race ends.
  StartNext(static_cast<std::int32_t>(
      std::count_if(runners_.begin(), runners_.end(),
                    [](const Runner& each) { return IsOpen(StateOf(*each.request)); })));
  for (const Runner* each : waiting) {
    CreateTemplates(each->request->meta.name, ZoneOf(*each->request), each->request, groups_);
  }
  Wait(*waiting.front()->request);
}

// Why the request can win no more; nullopt: it waits, or its nodes have come.
std::optional<FailedRequest> CheckDecider::FailureOf(const Runner& runner) {
  const ProvisioningRequest& request = *runner.request;
  FailedRequest end{.attempt = runner.attempt, .at = now_};
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
  const WallTime asked = request.meta.creation_timestamp;
  const std::int64_t answer = input_.policy->answer_timeout_seconds;
  if (state == RequestState::kUnanswered && answer > 0) {
    end.reason = kNoAnswerReason;
    end.message =
        "no controller has answered for class \"" + request.provisioning_class_name + "\"";
    if (now_ >= asked + seconds(answer)) return end;
    WakeIn(asked + seconds(answer) - now_);
  }
  const StepPlan plan(*input_.policy, *input_.config, memory_, flavors_, vetoes_,
                      StepOf(request)->name);
  const auto left = plan.StepSecondsLeft();
  if (!left) return std::nullopt;
  // Requests of one step share its time from the first on.
  WallTime begin = asked;
  for (const Runner& each : runners_) {
    if (StepOf(*each.request) == StepOf(request)) {
      begin = std::min(begin, each.request->meta.creation_timestamp);
    }
  }
  end.reason = kTimeoutReason;
  end.message = "no capacity within " + std::to_string(*left) + " s";
  if (now_ >= begin + seconds(*left)) return end;
  WakeIn(begin + seconds(*left) - now_);
  return std::nullopt;
}

// Makes the next request of the race when it is due.
void CheckDecider::StartNext(std::int32_t open) {
  const ProvisioningRace& race = *input_.policy->race;
  // A request that was made before the policy had a race keeps its place, and waits alone.
  if (open >= race.width || RaceOf(*runners_.back().request) == 0) return;
  std::vector<std::string> zones;
  std::vector<std::string> steps;
  for (const Runner& each : runners_) {
    zones.push_back(ZoneOf(*each.request));
    steps.push_back(StepNameOf(*each.request));
  }
  const ProvisioningStep* step = nullptr;
  std::string zone;
  if (race.over == ProvisioningRace::Over::kZones) {
    step = plan_->current();
    if (plan_->AttemptsLeft(*step) <= static_cast<std::int32_t>(runners_.size())) return;
    zone = NextZone(*step, AboutSteps(), AttemptsOf(*step), zones);
    if (zone.empty()) return;
  } else {
    for (const ProvisioningStep* each : plan_->Left()) {
      const bool runs = std::find(steps.begin(), steps.end(), each->name) != steps.end();
      if (!runs && step == nullptr) step = each;
    }
    if (step == nullptr) return;
    zone = NextZone(*step, AboutSteps(), AttemptsOf(*step));
  }
  const Runner& newest = runners_.back();
  const WallTime due =
      FailureOf(newest) ? now_
                        : newest.request->meta.creation_timestamp + seconds(race.stagger_seconds);
  if (now_ < due) return WakeIn(due - now_);
  const Branch branch{.step = step,
                      .zone = zone,
                      .attempt = NextAttempt(situation_, input_, memory_),
                      .race = RaceOf(*newest.request)};
  if (BudgetForbids(*step) || !HasRoom(branch) || ChargesFirst(branch)) return;
  AskIn(branch);
}

// The check becomes Ready with the winner, and the others go in the same pass.
void CheckDecider::EndRace(const Runner& winner) {
  bool settles = false;
  for (const Runner& each : runners_) settles = SettlesCharge(*each.request) || settles;
  if (settles) return;
  for (const Runner& each : runners_) {
    if (each.request != winner.request) DropLoser(*each.request);
  }
  current_ = winner.request;
  FollowRequest(*current_);
}

// Every request has failed: each is a failed attempt of its step. The time of the race counts once
// for each step.
void CheckDecider::LoseRace(std::vector<FailedRequest> ends) {
  bool learnt = false;
  for (std::size_t at = 0; at < ends.size(); ++at) {
    if (ends[at].reason == kTimeoutReason) {
      learnt = Learn(*runners_[at].request, kTimeoutReason, now_) || learnt;
    }
  }
  for (const Runner& each : runners_) learnt = SettlesCharge(*each.request) || learnt;
  if (learnt) return;
  WeighSteps();
  api::ProvisioningMemory memory = memory_;
  for (std::size_t at = 0; at < ends.size(); ++at) {
    const ProvisioningRequest& request = *runners_[at].request;
    const ProvisioningStep* step = StepOf(request);
    WallTime begin = request.meta.creation_timestamp;
    WallTime last = ends[at].at;
    bool last_of_step = true;
    for (std::size_t other = 0; other < ends.size(); ++other) {
      if (StepOf(*runners_[other].request) != step) continue;
      begin = std::min(begin, runners_[other].request->meta.creation_timestamp);
      last = std::max(last, ends[other].at);
      last_of_step = last_of_step && other <= at;
    }
    if (last_of_step) ends[at].waited_seconds = SecondsSince(begin, last);
    const std::string zone = ZoneOf(request);
    if (!zone.empty()) ends[at].message = "zone " + zone + ": " + ends[at].message;
    const api::ProvisioningMemory before = memory;
    const StepPlan plan(*input_.policy, *input_.config, before, flavors_, vetoes_, step->name);
    // A request whose time is over is left until the race ends; that does not count.
    if (const auto left = plan.StepSecondsLeft()) {
      ends[at].waited_seconds = std::min(ends[at].waited_seconds, std::max<std::int64_t>(*left, 0));
    }
    memory = plan.Count(ends[at], failures());
  }
  counted_ = std::move(memory);
}

// Until when the request stays that has lost after its nodes had come; nullopt: it goes at once.
std::optional<WallTime> CheckDecider::SurplusEnd(const ProvisioningRequest& request) const {
  const auto granted = GrantedAt(request);
  const std::int64_t keep = plan_ && input_.policy->race && RaceOf(request) != 0
                                ? input_.policy->race->keep_surplus_seconds
                                : 0;
  if (!granted || keep == 0) return std::nullopt;
  const bool decided = before_.state == api::CheckState::kReady;
  return std::max(*granted, decided ? before_.last_transition_time : CutToSeconds(now_)) +
         seconds(keep);
}

// Deletes a request that has lost the race, or keeps it while its nodes are offered to others.
void CheckDecider::DropLoser(const ProvisioningRequest& request) {
  BookSurplus(request);
  const auto end = SurplusEnd(request);
  if (end && now_ < *end) return WakeIn(*end - now_);
  DeleteRequest drop{.name = request.meta.name};
  // A grant that comes before the deletion has to be seen.
  const bool keeps = plan_ && Races() && input_.policy->race->keep_surplus_seconds > 0;
  if (keeps && RaceOf(request) != 0 && MayBeGranted(request)) {
    drop.resource_version = request.meta.resource_version;
  }
  Add(std::move(drop));
}

// Counts the nodes that came for a request that has lost.
void CheckDecider::BookSurplus(const ProvisioningRequest& request) {
  const auto granted = GrantedAt(request);
  if (!granted || !plan_ || RaceOf(request) == 0) return;
  const ProvisioningStep* step = StepOf(request);
  if (step == nullptr) return;
  const auto price = PriceOf(*step, situation_.flavors);
  const std::int64_t nodes = NodesOf(*step, GangOf(workload_, WithStep(*input_.config, *step)));
  const Waste waste = WasteOf(*granted, SurplusEnd(request).value_or(now_), nodes,
                              price ? std::optional(price->NanoValue()) : std::nullopt);
  api::ProvisioningMemory memory = counted_.value_or(memory_);
  const auto attempt = AttemptOf(request.meta.name, workload_.meta.name, input_.name);
  if (!attempt || !BookWaste(*attempt, waste, memory)) return;
  counted_ = std::move(memory);
  std::string message = input_.name + ": ProvisioningRequest " + request.meta.name +
                        " lost the race after its " + std::to_string(nodes) +
                        (nodes == 1 ? " node" : " nodes") + " had come";
  if (price) message += "; about " + Dollars(waste.nano_dollars) + " USD are wasted";
  out_.told.push_back(CheckEvent{"RaceSurplus", std::move(message), /*warning=*/true});
}

// Where the cloud made nodes in further zones, too, the pods go to those of the chosen zone: the
// request keeps no others.
void CheckDecider::KeepToItsZone(const ProvisioningRequest& request) {
  const std::string* zones =
      api::FindValue(request.provisioning_class_details, "OverprovisionedZones");
  if (!plan_ || zones == nullptr || zones->empty()) return;
  const std::string* chosen = api::FindValue(request.provisioning_class_details, "SelectedZone");
  for (api::PodSetUpdate& update : state_.pod_set_updates) {
    if (chosen != nullptr) update.node_selector[api::kZoneLabel] = *chosen;
  }
  Add(CheckEvent{"OverprovisionedZones",
                 input_.name + ": nodes came in " + *zones + ", too; the job uses those in " +
                     (chosen == nullptr ? "one zone" : *chosen) +
                     ", and the cloud removes the others when they have been idle",
                 /*warning=*/true});
}

// The request whose failure the memory counted last; null: it is gone. That may have been one that
// lost a race and was kept for others: while capacity is in use the newest one before it counts.
const ProvisioningRequest* CheckDecider::CountedRequest() const {
  const ProvisioningRequest* counted = nullptr;
  std::int32_t newest = 0;
  for (const ProvisioningRequest& each : situation_.requests) {
    const auto attempt = AttemptOf(each.meta.name, workload_.meta.name, input_.name);
    if (!attempt || *attempt > memory_.counted_attempt || *attempt <= newest) continue;
    if (*attempt != memory_.counted_attempt && state_.state != CheckState::kReady) continue;
    counted = &each;
    newest = *attempt;
  }
  return counted;
}

}  // namespace berth::provisioning

#include "provisioning/check_decider.h"

#include <algorithm>
#include <chrono>

#include "api/labels.h"
#include "api/provisioning_labels.h"
#include "base/strings.h"
#include "provisioning/check_events.h"
#include "provisioning/names.h"
#include "provisioning/reasons.h"
#include "provisioning/request_state.h"
#include "provisioning/zones.h"

namespace berth::provisioning {
namespace {

using api::AdmissionCheckState;
using api::CheckState;
using api::ProvisioningRequest;

// Retries without counting for failures that Berth or the autoscaler caused.
constexpr std::int32_t kMaxUncounted = 3;
// Queued provisioning drops a request after this many seconds, also while Berth is away.
constexpr char kValidUntil[] = "ValidUntilSeconds";
constexpr std::int64_t kValidityMargin = 60;

bool HonoursValidity(const std::string& provisioning_class) {
  return provisioning_class == api::kQueuedProvisioningClass;
}

api::OwnerReference OwnerFor(const ProvisioningRequest& request) {
  return {.api_version = "autoscaling.x-k8s.io/v1",
          .kind = "ProvisioningRequest",
          .name = request.meta.name,
          .uid = request.meta.uid,
          .controller = true,
          .block_owner_deletion = true};
}

std::int64_t SecondsBetween(WallTime from, WallTime to) {
  return std::chrono::duration_cast<std::chrono::seconds>(to - from).count();
}

bool AsksIn(const api::ProvisioningStep& step, const std::string& zone) {
  if (step.zones.empty()) return zone.empty();
  return std::find(step.zones.begin(), step.zones.end(), zone) != step.zones.end();
}

}  // namespace

std::string ZoneOf(const ProvisioningRequest& request) {
  const std::string* zone =
      api::FindValue(request.meta.annotations, api::kProvisioningZoneAnnotation);
  return zone == nullptr ? "" : *zone;
}

CheckDecider::CheckDecider(const Situation& situation, const CheckInput& input,
                           const AdmissionCheckState& before, const DecideOptions& options,
                           WallTime now, Decision& out)
    : workload_(*situation.workload),
      situation_(situation),
      input_(input),
      before_(before),
      state_(before),
      options_(options),
      now_(now),
      out_(out),
      flavors_(FlavorsOf(workload_)) {
  if (input.policy == nullptr || input.config == nullptr) return;
  const auto memory = situation.memory.find(input.name);
  if (memory != situation.memory.end()) memory_ = memory->second;
  VetoInput about = AboutSteps();
  about.asked = HasLiveRequest(situation, input.name, memory_.counted_attempt);
  vetoes_ = VetoesOf(about);
  plan_.emplace(*input.policy, *input.config, memory_, flavors_, vetoes_,
                AskedStep(situation, input.name, memory_.counted_attempt));
  if (!plan_->concerned()) plan_.reset();
}

std::optional<api::ProvisioningMemory> CheckDecider::Run() {
  FollowConfig();
  if (!counted_ && out_.lessons.empty() && out_.charges.empty()) Record();
  return std::move(counted_);
}

void CheckDecider::FollowConfig() {
  if (input_.config == nullptr) {
    if (!(admitted() && before_.state == CheckState::kReady)) {
      Say(CheckState::kPending, "the check is not active");
    }
    return;
  }
  const FlavorsByName none;
  groups_ = RequiredPodSets(workload_, config(),
                            situation_.flavors != nullptr ? *situation_.flavors : none);
  SplitGroups();
  DivideGroups();
  const bool asks = state_.state != CheckState::kRetry && state_.state != CheckState::kRejected;
  if (plan_ && asks && !groups_.empty() && FollowMemory()) return;
  FindRequests();
  if (groups_.empty()) {
    if (state_.state != CheckState::kReady) {
      Say(CheckState::kReady, "the provisioning request is not needed");
      state_.pod_set_updates.clear();
    }
    return;
  }
  // The lifecycle acts on Retry and Rejected: the Workload is about to lose its quota.
  if (!asks) return;
  if (current_ != nullptr) {
    FollowRequests();
  } else if (state_.state == CheckState::kReady) {
    KeepLease();
  } else if (!UseIdleNodes()) {
    Ask();
  }
}

// Draws the consequence of the failure that the memory counted last. Returns false where the next
// request is due, or waited for.
bool CheckDecider::FollowMemory() {
  const ProvisioningRequest* counted = CountedRequest();
  using Next = api::ProvisioningMemory::Next;
  // A higher retryCount tells that the consequence was drawn.
  if (counted != nullptr && memory_.counted_retries == failures()) {
    // A Workload that will be held gives up capacity in use first.
    const bool in_use = state_.state == CheckState::kReady && !counted->meta.deletion_timestamp &&
                        NextAttempt(situation_, input_, memory_) == memory_.counted_attempt + 1;
    const bool retries = memory_.next == Next::kRetry || (memory_.next == Next::kNothing && in_use);
    if (retries || memory_.next == Next::kReject) {
      if (!memory_.outcomes.empty()) Advise(memory_.outcomes.back().reason);
      const auto wait = std::max<std::int64_t>(SecondsBetween(now_, memory_.due), 0);
      Say(retries ? CheckState::kRetry : CheckState::kRejected, memory_.message);
      if (retries) state_.requeue_after_seconds = static_cast<std::int32_t>(wait);
      return true;
    }
  }
  if (plan_->current() != nullptr || state_.state == CheckState::kReady) return false;
  if (plan_->first_left() != nullptr) {
    Say(CheckState::kRetry, plan_->GoingOn());
    state_.requeue_after_seconds = 0;
  } else if (plan_->some_not_used_up() && !plan_->was_held()) {
    FollowVetoes();
  } else if (input_.policy->when_exhausted == api::ProvisioningPolicy::WhenExhausted::kHold) {
    FindRequests();  // the last one has failed
    Say(CheckState::kPending, memory_.message);
    if (const auto end = plan_->FirstVetoEnd()) {
      WakeIn(std::max<Duration>(*end - now_, Duration::zero()));
    }
  } else {  // the policy has fewer steps than the memory, or holds nobody any more
    counted_ = memory_;
    counted_->steps.clear();
  }
  return true;
}

// Every step that is not used up has a veto: the Workload is rejected where no step can ever serve
// its pods, gives its quota back where a veto ends by itself, and else waits for an administrator.
void CheckDecider::FollowVetoes() {
  const std::vector<std::string> reasons = plan_->VetoReasons();
  const std::string message = VetoMessage("No step may ask: ", plan_->PassedOver(), reasons);
  if (message != before_.message) {
    for (CheckEvent& event : AdviceOnVetoes(input_.name, reasons, before_.message)) {
      Add(std::move(event));
    }
  }
  if (plan_->never_fits()) return Say(CheckState::kRejected, message);
  const auto end = plan_->FirstVetoEnd();
  out_.waits_for_budget = out_.waits_for_budget || (end && plan_->waits_for_budget());
  if (end && plan_->waits_for_budget()) WakeIn(std::max<Duration>(*end - now_, Duration::zero()));
  if (!end || plan_->waits_for_budget()) return Say(CheckState::kPending, message);
  Say(CheckState::kRetry, message);
  state_.requeue_after_seconds =
      static_cast<std::int32_t>(std::max<std::int64_t>(SecondsBetween(now_, *end), 0) + 1);
}

// The request with the highest attempt is current, if it still matches the config, with those that
// race with it. The others are obsolete.
void CheckDecider::FindRequests() {
  const bool leased = RunsOnLease();  // then each request is of an earlier reservation
  std::vector<Runner> candidates;
  std::vector<const ProvisioningRequest*> ours;
  for (const ProvisioningRequest& request : situation_.requests) {
    const auto attempt = AttemptOf(request.meta.name, workload_.meta.name, input_.name);
    if (!attempt) continue;
    ours.push_back(&request);
    const bool settled = state_.state != CheckState::kPending;  // a settled check keeps its request
    if (request.meta.deletion_timestamp || *attempt <= 0 || groups_.empty() || leased ||
        !(settled || (InSync(request) && !IsOld(request, *attempt)))) {
      continue;
    }
    const api::ProvisioningStep* step = StepOf(request);
    const auto price = step == nullptr ? std::nullopt : PriceOf(*step, situation_.flavors);
    candidates.push_back(
        {&request, *attempt, price ? std::optional(price->NanoValue()) : std::nullopt});
  }
  ChooseRunners(std::move(candidates));
  for (const ProvisioningRequest* request : ours) {
    if (IsKept(*request) || request->meta.deletion_timestamp) continue;
    if (state_.state == CheckState::kReady) {
      DropLoser(*request);
    } else {
      Add(DeleteRequest{request->meta.name});
    }
  }
}

bool CheckDecider::InSync(const ProvisioningRequest& request) const {
  const api::ProvisioningStep* step = StepOf(request);
  const bool other = step != nullptr && step != plan_->current();
  const api::ProvisioningRequestConfig config =
      other ? WithStep(*input_.config, *step) : this->config();
  if (request.provisioning_class_name != config.provisioning_class_name) return false;
  if (step != nullptr && !AsksIn(*step, ZoneOf(request))) return false;
  for (const auto& [key, value] : config.parameters) {
    // A parameter of the Workload overrides the config's.
    if (workload_.meta.annotations.count(api::kProvisioningParameterPrefix + key) != 0) continue;
    const std::string* have = api::FindValue(request.parameters, key);
    if (have == nullptr || *have != value) return false;
  }
  const Part& groups = first_.empty() ? GroupsOf(request) : first_;
  if (request.pod_sets.size() != groups.size()) return false;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (request.pod_sets[i].count != groups[i].count ||
        request.pod_sets[i].pod_template_name !=
            TemplateName(request.meta.name, groups[i].names.front())) {
      return false;
    }
  }
  return true;
}

// Whether the request belongs to a failure that is counted already: it existed before the check was
// reset, and is not deleted yet.
bool CheckDecider::IsOld(const ProvisioningRequest& request, std::int32_t attempt) const {
  if (plan_ && attempt <= memory_.counted_attempt) return true;
  if (failures() == 0) return false;
  if (attempt <= failures()) return true;
  const RequestState state = StateOf(request);
  const bool failed = state == RequestState::kFailed || state == RequestState::kBookingExpired;
  return failed && request.meta.creation_timestamp < before_.last_transition_time;
}

// A step in whose place a later one is asked stays the step of a job that has asked in it.
const Veto* CheckDecider::VetoOf(const api::ProvisioningStep& step) const {
  const auto veto = vetoes_.find(step.name);
  return veto != vetoes_.end() && veto->second.in_favor_of.empty() ? &veto->second : nullptr;
}

void CheckDecider::Ask() {
  // The step is that of an obsolete request: its veto takes effect once the request is gone.
  if (plan_ && VetoOf(*plan_->current()) != nullptr) return;
  Branch branch{.attempt = NextAttempt(situation_, input_, memory_)};
  if (plan_) {
    branch.step = plan_->current();
    branch.zone = NextZone(*branch.step, AboutSteps(), AttemptsOf(*branch.step));
  }
  if (Races() && !Splits() && first_.empty()) branch.race = branch.attempt;
  if (!HasRoom(branch)) {
    return Say(CheckState::kPending,
               "Waiting for one of " + std::to_string(input_.policy->max_in_flight) +
                   " open requests of class " + out_.waits->lane.provisioning_class +
                   " and flavor " + out_.waits->lane.flavors + " (maxInFlight of the policy)");
  }
  if (ChargesFirst(branch)) return;
  if (Splits()) {
    AskForParts(std::move(branch), MissingParts());
  } else {
    if (!first_.empty()) branch.part = &first_;
    AskIn(branch);
  }
  if (state_.state != CheckState::kPending) Say(CheckState::kPending, "");
}

std::int32_t CheckDecider::AttemptsOf(const api::ProvisioningStep& step) const {
  const auto used = memory_.steps.find(step.name);
  return used == memory_.steps.end() ? 0 : used->second.attempts;
}

void CheckDecider::AskIn(const Branch& branch) {
  const api::ProvisioningRequestConfig config =
      branch.step == nullptr ? *input_.config : WithStep(*input_.config, *branch.step);
  const std::string& zone = branch.zone;
  ProvisioningRequest request;
  request.meta.namespace_name = workload_.meta.namespace_name;
  request.meta.name = RequestName(workload_.meta.name, input_.name, branch.attempt);
  request.meta.labels = {{api::kManagedLabel, "true"}};
  api::StringMap& annotations = request.meta.annotations;
  if (branch.step != nullptr) annotations[api::kProvisioningStepAnnotation] = branch.step->name;
  if (!zone.empty()) annotations[api::kProvisioningZoneAnnotation] = zone;
  if (!first_.empty()) annotations[api::kDividedAnnotation] = std::to_string(groups_.front().count);
  if (branch.race != 0) annotations[api::kRaceAnnotation] = std::to_string(branch.race);
  request.meta.owner_references = {{.api_version = "kueue.x-k8s.io/v1beta2",
                                    .kind = "Workload",
                                    .name = workload_.meta.name,
                                    .uid = workload_.meta.uid,
                                    .controller = true,
                                    .block_owner_deletion = true}};
  request.provisioning_class_name = config.provisioning_class_name;
  request.parameters = config.parameters;
  AskForTheRun(request);
  SearchZones(branch, request);
  const auto left = SecondsFor(branch);
  if (left && HonoursValidity(request.provisioning_class_name)) {
    request.parameters.emplace(kValidUntil, std::to_string(*left + kValidityMargin));
  }
  const std::string_view prefix = api::kProvisioningParameterPrefix;
  for (const auto& [key, value] : workload_.meta.annotations) {
    if (key.compare(0, prefix.size(), prefix) == 0) {
      request.parameters[key.substr(prefix.size())] = value;
    }
  }
  const Part& groups = branch.part == nullptr ? groups_ : *branch.part;
  for (const PodSetGroup& group : groups) {
    request.pod_sets.push_back({TemplateName(request.meta.name, group.names.front()), group.count});
  }
  const bool is_first = branch.part == nullptr || branch.part == &first_ ||
                        (Splits() && branch.part == &parts_.front());
  if (is_first) WarnOfBudget(branch);
  // Templates first: an autoscaler fails a request with missing templates for good.
  CreateTemplates(request.meta.name, zone, nullptr, groups);
  const std::string name = request.meta.name;
  Add(CreateRequest{std::move(request), input_.name, branch.attempt});
  Add(CheckEvent{"ProvisioningRequestCreated", "Created ProvisioningRequest: \"" + name + "\""});
}

// Creates missing templates, and moves those that the Workload owns to the request (`owner`). A
// request that is about to be made gets new templates: nobody has vouched for the content of those
// that exist.
void CheckDecider::CreateTemplates(const std::string& request_name, const std::string& zone,
                                   const ProvisioningRequest* owner, const Part& groups) {
  for (const PodSetGroup& group : groups) {
    const std::string name = TemplateName(request_name, group.names.front());
    const auto seen = std::find_if(situation_.templates.begin(), situation_.templates.end(),
                                   [&name](const TemplateSeen& each) { return each.name == name; });
    if (owner == nullptr || seen == situation_.templates.end()) {
      std::optional<api::OwnerReference> reference;
      if (owner != nullptr) reference = OwnerFor(*owner);
      api::PodTemplate pods = group.pod_template;
      if (!zone.empty()) pods.spec.node_selector[api::kZoneLabel] = zone;
      Add(CreateTemplate{name, request_name, std::move(pods), std::move(reference)});
    } else if (seen->controller_uid != owner->meta.uid) {
      Add(OwnTemplate{name, OwnerFor(*owner)});
    }
  }
}

void CheckDecider::FollowRequest(const ProvisioningRequest& request) {
  const RequestState state = StateOf(request);
  const api::Condition* why = DecidingCondition(request);
  if (LearnFrom(request, state)) return;
  const bool in_use = state == RequestState::kProvisioned || state == RequestState::kBookingExpired;
  if (in_use && state_.state == CheckState::kReady) {
    if (GuardExpiry(request) || GivesUp(request, state)) return;
  }
  switch (state) {
    case RequestState::kFailed: return Failure(request, "Retrying after failure: ");
    case RequestState::kCapacityRevoked: return Revoked(request);
    case RequestState::kBookingExpired:
      // The regular end of a booking that is in use.
      if (!admitted()) Failure(request, "Retrying after booking expired: ");
      return;
    case RequestState::kProvisioned:
      if (state_.state == CheckState::kReady || SettlesCharge(request)) return;
      Say(CheckState::kReady, why->message);
      state_.pod_set_updates =
          PodSetUpdates(workload_, groups_, request, UpdatesConfig(request), Updates());
      KeepToItsZone(request);
      return;
    default: break;
  }
  if (state_.state == CheckState::kReady || WaitedTooLong(request)) return;
  if (LostItsPlace(request)) return;
  CreateTemplates(request.meta.name, ZoneOf(request), &request, groups_);
  Wait(request);
}

void CheckDecider::Failure(const ProvisioningRequest& request, const char* prefix) {
  const api::Condition& why = *DecidingCondition(request);
  const bool templates_missing =
      why.reason == "FailedToCreatePods" || why.reason == "MissingPodTemplates";
  const auto attempt = AttemptOf(request.meta.name, workload_.meta.name, input_.name);
  const std::int32_t counted = std::max(failures(), memory_.counted_attempt);
  if (templates_missing && !admitted() && *attempt <= counted + kMaxUncounted) {
    if (SettlesCharge(request)) return;
    Add(DeleteRequest{request.meta.name});
    return Ask();
  }
  if (plan_) return Count(request, why.reason, why.message, why.last_transition_time);
  Advise(why.reason);
  if (failures() >= input_.config->backoff_limit_count)
    return Say(CheckState::kRejected, why.message);
  const std::int64_t delay = BackoffSeconds(*input_.config, failures());
  const std::int64_t passed = SecondsBetween(why.last_transition_time, now_);
  state_.requeue_after_seconds =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(delay - passed, 0, delay));
  Say(CheckState::kRetry, prefix + why.message);
}

void CheckDecider::Revoked(const ProvisioningRequest& request) {
  const api::Condition& why = *DecidingCondition(request);
  if (!workload_.spec.active) return;
  if (plan_ && input_.policy->on_revoked == api::ProvisioningPolicy::OnRevoked::kRequeue) {
    return Count(request, why.reason, why.message, why.last_transition_time);
  }
  Say(CheckState::kRejected, why.message);
}

// Whether the waiting time of the policy's step is used up; its end wakes the Workload.
bool CheckDecider::WaitedTooLong(const ProvisioningRequest& request) {
  const std::optional<std::int64_t> left = !plan_    ? std::nullopt
                                           : Races() ? plan_->StepSecondsLeft()
                                                     : plan_->SecondsLeft();
  if (!left) return false;
  const WallTime end = request.meta.creation_timestamp + std::chrono::seconds(*left);
  if (now_ < end) {
    WakeIn(end - now_);
    return false;
  }
  if (Learn(request, kTimeoutReason, now_)) return true;
  Count(request, kTimeoutReason, "no capacity within " + std::to_string(*left) + " s", now_);
  return true;
}

void CheckDecider::Count(const ProvisioningRequest& request, const std::string& reason,
                         const std::string& message, WallTime at) {
  const api::Condition* provisioned = api::FindCondition(request.conditions, kProvisionedCondition);
  const bool came = provisioned != nullptr && provisioned->status == api::ConditionStatus::kTrue;
  if (SettlesCharge(request)) return;
  const WallTime end = came ? provisioned->last_transition_time : at;
  const std::string zone = ZoneOf(request);
  // Where several requests are for parts of the Workload, the failure of one ends all.
  std::int32_t attempt = *AttemptOf(request.meta.name, workload_.meta.name, input_.name);
  for (const Runner& each : runners_) attempt = std::max(attempt, each.attempt);
  // A request of the race whose nodes are kept for others does not serve this Workload again.
  for (const ProvisioningRequest& each : situation_.requests) {
    const auto other = AttemptOf(each.meta.name, workload_.meta.name, input_.name);
    // One that goes is not there for the consequence (FollowMemory).
    const bool stays = other && HasLost(each, workload_) && !each.meta.deletion_timestamp;
    if (stays) attempt = std::max(attempt, *other);
  }
  if (attempt <= memory_.counted_attempt) return;
  WeighSteps();
  counted_ = plan_->Count({.attempt = attempt,
                           .reason = reason,
                           .message = zone.empty() ? message : "zone " + zone + ": " + message,
                           .at = at,
                           .waited_seconds = SecondsBetween(request.meta.creation_timestamp, end),
                           .revoked = StateOf(request) == RequestState::kCapacityRevoked ||
                                      reason == kLostNodesReason || reason == kCapacityEndsReason},
                          failures());
}

void CheckDecider::WakeIn(Duration wait) {
  if (!out_.next_wake || wait < *out_.next_wake) out_.next_wake = wait;
}

// Adds the role that can act and the remedy: the cloud's message names the problem only.
void CheckDecider::Advise(const std::string& reason) {
  if (auto advice = AdviceOn(input_.name, reason, input_.policy != nullptr))
    Add(*std::move(advice));
}

void CheckDecider::Wait(const ProvisioningRequest& request) {
  const api::Condition* why = DecidingCondition(request);
  const bool asked_again = memory_.next == api::ProvisioningMemory::Next::kAsk;
  const std::string quiet = asked_again ? memory_.message : "";
  if (why != nullptr) {
    // The reason that the cloud gives for the wait; "not accepted yet" carries no information.
    const bool telling =
        why->type == kProvisionedCondition ||
        (why->status == api::ConditionStatus::kFalse && why->reason != "NotAccepted");
    return Say(CheckState::kPending, telling ? why->message : quiet);
  }
  const Duration silent = now_ - request.meta.creation_timestamp;
  const std::string unanswered =
      "no controller has answered for class \"" + request.provisioning_class_name + "\"";
  const Duration limit =
      std::chrono::seconds(plan_ ? input_.policy->answer_timeout_seconds : std::int64_t{0});
  if (limit > Duration::zero() && silent >= limit) {
    return Count(request, kNoAnswerReason, unanswered, now_);
  }
  if (limit > Duration::zero()) WakeIn(limit - std::max(silent, Duration::zero()));
  if (silent >= options_.answer_timeout) return Say(CheckState::kPending, unanswered);
  WakeIn(options_.answer_timeout - std::max(silent, Duration::zero()));
  Say(CheckState::kPending, quiet);
}

void CheckDecider::Record() {
  // Left by an earlier reservation.
  if (state_.state != CheckState::kRetry) state_.requeue_after_seconds.reset();
  if (state_.state != CheckState::kReady) state_.pod_set_updates.clear();
  if (state_ == before_) return;
  if (state_.state != before_.state) {
    state_.last_transition_time = CutToSeconds(now_);
    Add(checks::StateEvent(before_, state_));
  }
  out_.checks.push_back(state_);
}

}  // namespace berth::provisioning

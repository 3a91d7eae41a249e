#include "provisioning/reactive_decider.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/pod_phase.h"
#include "provisioning/check_events.h"
#include "provisioning/gang.h"
#include "provisioning/late_pods.h"
#include "provisioning/placeholders.h"
#include "provisioning/pool_warnings.h"
#include "provisioning/run_duration.h"
#include "provisioning/spend.h"

namespace berth::provisioning {
namespace {

using api::CheckState;
using api::ProvisioningMemory;
using std::chrono::seconds;

constexpr char kReadyMessage[] = "the pods may start: nodes come for pending pods";

using api::ProvisioningMemory;

WallTime ReactiveQuotaSince(const api::Workload& workload) {
  const api::Condition* reserved =
      api::FindCondition(workload.status.conditions, api::kQuotaReserved);
  return reserved == nullptr ? WallTime{} : reserved->last_transition_time;
}

// The id of the attempt under way, as long as no node is known to have come.
std::string OpenReactiveId(const api::Workload& workload, const std::string& check,
                           const ProvisioningMemory& memory) {
  return ChargeId(workload, check, memory.counted_attempt + 1);
}

// The id of the nodes that have come since the quota was reserved.
std::string KeptReactiveId(const api::Workload& workload, const std::string& check) {
  const auto since =
      std::chrono::floor<std::chrono::seconds>(ReactiveQuotaSince(workload).time_since_epoch());
  return KeptChargeId(workload.meta.uid + "/" + check + "/" + std::to_string(since.count()));
}

// The charge of that id, of whatever day; nullopt: there is none.
std::optional<Charge> FindCharge(const SpendMemory& spend, const std::string& queue,
                                 const std::string& id) {
  for (const auto& [day, of_day] : spend.Of(queue)) {
    const auto found = of_day.charges.find(id);
    if (found != of_day.charges.end()) return Charge{queue, day, id, found->second};
  }
  return std::nullopt;
}

// Whether charges of the day were added up: that of a job that has started may be among them.
bool IsFolded(const SpendMemory& spend, const std::string& queue, std::int64_t day) {
  const auto found = spend.Of(queue).find(day);
  return found != spend.Of(queue).end() && found->second.folded != 0;
}

// Whether some pod of the attempt has a node, or had one.
bool SomeNodeCame(const ReactiveSituation& situation, const ProvisioningMemory& memory) {
  const WallTime counted = memory.outcomes.empty() ? WallTime{} : memory.outcomes.back().at;
  const WallTime since = ReactiveQuotaSince(*situation.workload);
  const auto came = [&](const api::Pod* pod) {
    if (pod->spec.node_name.empty()) return false;
    if (!pod->meta.deletion_timestamp && !api::HasEnded(*pod)) return true;
    // A pod that came and ended between two decisions; not one that an earlier attempt has left.
    if (pod->meta.creation_timestamp >= since && pod->meta.creation_timestamp > counted) {
      return true;
    }
    const api::Condition* lost = LostItsNode(*pod);
    return lost != nullptr && lost->last_transition_time >= since &&
           lost->last_transition_time > counted;
  };
  return std::any_of(situation.pods.begin(), situation.pods.end(), came) ||
         std::any_of(situation.placeholders.begin(), situation.placeholders.end(), came);
}

}  // namespace

const api::ProvisioningRequestConfig& ReactiveConfig() {
  static const api::ProvisioningRequestConfig config = [] {
    api::ProvisioningRequestConfig made;
    made.provisioning_class_name = kReactiveClass;
    return made;
  }();
  return config;
}

api::ProvisioningPolicy WithReactiveLimit(const api::ProvisioningPolicy* policy) {
  api::ProvisioningPolicy limited = policy == nullptr ? api::ProvisioningPolicy{} : *policy;
  if (limited.max_wait_seconds == 0) limited.max_wait_seconds = kUsualReactiveWait;
  limited.race.reset();
  for (api::ProvisioningStep& step : limited.steps) step.provisioning_class_name.clear();
  // A job that kept its quota here would keep its pods.
  using When = api::ProvisioningPolicy::WhenExhausted;
  if (limited.when_exhausted == When::kHold) limited.when_exhausted = When::kCycle;
  return limited;
}

std::int64_t WholeSeconds(WallTime from, WallTime to) {
  return std::max<std::int64_t>(std::chrono::duration_cast<seconds>(to - from).count(), 0);
}

void ReactiveDecider::Follow() {
  const bool admitted = api::IsTrue(situation_.workload->status.conditions, api::kAdmitted);
  if (!input_.active) {
    if (!(admitted && before_.state == CheckState::kReady)) {
      Say(CheckState::kPending, "the check is not active");
    }
    return;
  }
  // The lifecycle acts on Retry and Rejected: the Workload is about to lose its quota.
  if (state_.state == CheckState::kRetry || state_.state == CheckState::kRejected) return;
  if (FollowMemory() || SettlesCharge()) return;
  if (state_.state != CheckState::kReady) {
    if (plan_.concerned() && plan_.current() == nullptr) return FollowVetoes();
    if (IsObstructed() || HoldsNodes() || ChargesFirst()) return;
    Allow();
  }
  if (!plan_.concerned() || FollowLostPods()) return;
  FollowWaitingPods();
}

// Draws the consequence of the failure that the memory counted last, where the quota is still the
// one that failed.
bool ReactiveDecider::FollowMemory() {
  using Next = ProvisioningMemory::Next;
  if (memory_.next != Next::kRetry && memory_.next != Next::kReject) return false;
  if (memory_.outcomes.empty() || memory_.counted_retries != before_.retry_count.value_or(0) ||
      ReservedAt() > memory_.outcomes.back().at) {
    return false;
  }
  Advise(memory_.outcomes.back().reason);
  Say(memory_.next == Next::kRetry ? CheckState::kRetry : CheckState::kRejected, memory_.message);
  if (memory_.next == Next::kRetry) {
    state_.requeue_after_seconds = static_cast<std::int32_t>(WholeSeconds(now_, memory_.due));
  }
  return true;
}

// No step is left for the flavors of the admission.
void ReactiveDecider::FollowVetoes() {
  if (plan_.first_left() != nullptr) {
    Say(CheckState::kRetry, plan_.GoingOn());
    state_.requeue_after_seconds = 0;
    return;
  }
  if (!plan_.some_not_used_up()) {  // the policy has fewer steps than the memory
    counted_ = memory_;
    counted_->steps.clear();
    return;
  }
  const std::vector<std::string> reasons = plan_.VetoReasons();
  const std::string message = VetoMessage("No step may start: ", plan_.PassedOver(), reasons);
  if (message != before_.message) {
    for (CheckEvent& event : AdviceOnVetoes(input_.name, reasons, before_.message)) {
      out_.actions.emplace_back(std::move(event));
    }
  }
  if (plan_.never_fits()) return Say(CheckState::kRejected, message);
  const auto end = plan_.FirstVetoEnd();
  const bool for_budget = end && plan_.waits_for_budget();
  out_.waits_for_budget = out_.waits_for_budget || for_budget;
  if (for_budget) WakeIn(std::max<Duration>(*end - now_, Duration::zero()));
  if (!end || for_budget) return Say(CheckState::kPending, message);
  Say(CheckState::kRetry, message);
  state_.requeue_after_seconds = static_cast<std::int32_t>(WholeSeconds(now_, *end) + 1);
}

void ReactiveDecider::Allow() {
  if (situation_.placeholders.empty()) WarnOfBudget();
  Say(CheckState::kReady, kReadyMessage);
  state_.pod_set_updates = Updates();
  WarnOfPools();
}

std::vector<api::PodSetUpdate> ReactiveDecider::Updates() const {
  std::vector<api::PodSetUpdate> updates;
  if (input_.policy == nullptr || !input_.policy->protect_pods) return updates;
  for (const api::PodSet& pods : situation_.workload->spec.pod_sets) {
    api::PodSetUpdate update{.name = pods.name};
    AddProtection(pods.pod_template.annotations, update.annotations);
    if (!update.annotations.empty()) updates.push_back(std::move(update));
  }
  return updates;
}

// Tells of what Karpenter may do to the nodes while the job runs, once: also where the NodePool was
// seen after the pods were let start.
void ReactiveDecider::WarnOfPools() {
  const bool is_protected = input_.policy != nullptr && input_.policy->protect_pods;
  for (const PoolWarning& told : PoolWarningsFor(situation_, is_protected, now_)) {
    if (state_.message.find(told.key) != std::string::npos) continue;
    state_.message += "; " + told.event.message;
    if (is_protected) state_.message += ", its pods ask not to be disrupted";
    out_.actions.emplace_back(told.event);
  }
}

// If onRevoked is Requeue, a pod that lost its node ends the attempt. Returns whether one did.
// Times are whole seconds: a loss in the second of the last counted attempt belongs to that
// attempt, also where the Workload got quota again in the same second.
bool ReactiveDecider::FollowLostPods() {
  if (policy_.on_revoked != api::ProvisioningPolicy::OnRevoked::kRequeue) return false;
  const WallTime counted = memory_.outcomes.empty() ? WallTime{} : memory_.outcomes.back().at;
  for (const api::Pod* pod : situation_.pods) {
    const api::Condition* lost = LostItsNode(*pod);
    if (lost == nullptr || lost->last_transition_time < ReservedAt()) continue;
    if (lost->last_transition_time <= counted) continue;
    Count(kNodesTakenBackReason,
          "pod " + pod->meta.name + " lost node " + pod->spec.node_name + " (" + lost->reason + ")",
          0, /*revoked=*/true);
    return true;
  }
  return false;
}

void ReactiveDecider::FollowWaitingPods() {
  std::int64_t placed = 0;
  for (const api::Pod* pod : situation_.pods) {
    if (!pod->spec.node_name.empty() && !pod->meta.deletion_timestamp && !api::HasEnded(*pod)) {
      ++placed;
    }
  }
  auto [first, since] = LongestWaitOf(situation_.pods);
  if (first == nullptr) {
    if (ChargesFirst()) return;
    if (before_.state == CheckState::kReady && state_.message.starts_with(kPodsWaitPrefix)) {
      state_.message = kReadyMessage;
    }
    WarnOfPools();
    if (placed >= GangOf(*situation_.workload, ReactiveConfig()).pods()) Learn("", 0);
    return;
  }
  // A step of the same flavor that follows another one has its own time.
  if (!memory_.outcomes.empty()) since = std::max(since, memory_.outcomes.back().at);
  const std::int64_t waited = WholeSeconds(since, now_);
  const std::int64_t limit = plan_.SecondsLeft().value_or(kUsualReactiveWait);
  const WaitCause cause = CauseOfWait(*first, situation_.supply, now_);
  if (waited >= limit) {
    if (Learn(cause.reason, waited)) return;
    const std::string& why = cause.reason == kNoNodesReason
                                 ? api::FindCondition(first->conditions, "PodScheduled")->message
                                 : cause.message;
    return Count(cause.reason, "no nodes within " + std::to_string(limit) + " s: " + why, waited,
                 /*revoked=*/false);
  }
  if (ChargesFirst()) return;
  WakeIn(std::min<Duration>(since + seconds(limit) - now_, kLookAgain));
  if (now_ - since < kQuietWait) return WakeIn(since + kQuietWait - now_);
  state_.message = std::string(
      TruncateUtf8(kPodsWaitPrefix + cause.reason + "): " + cause.message, checks::kMaxEventBytes));
  if (state_.message != before_.message) Advise(cause.reason);
}

// What is known beforehand keeps the job from making pods in vain: the check waits with its quota
// for as long as the step may wait. Returns false where nodes can come.
bool ReactiveDecider::IsObstructed() {
  if (plan_.current() == nullptr) return false;
  const FlavorsByName none;
  std::optional<WaitCause> cause;
  for (const PodSetGroup& group :
       RequiredPodSets(*situation_.workload, ReactiveConfig(),
                       situation_.flavors == nullptr ? none : *situation_.flavors)) {
    if (!cause) cause = KnownObstacle(group.pod_template.spec, situation_.supply, now_);
  }
  if (!cause) return false;
  WallTime since = ReservedAt();
  if (!memory_.outcomes.empty()) since = std::max(since, memory_.outcomes.back().at);
  const std::int64_t limit = plan_.SecondsLeft().value_or(kUsualReactiveWait);
  const std::int64_t waited = WholeSeconds(since, now_);
  if (waited >= limit) {
    if (!Learn(cause->reason, waited)) {
      Count(cause->reason, "no nodes within " + std::to_string(limit) + " s: " + cause->message,
            waited, /*revoked=*/false);
    }
    return true;
  }
  WakeIn(std::clamp<Duration>(since + seconds(limit) - now_, seconds(1), kLookAgain));
  Say(CheckState::kPending, "nodes cannot come (" + cause->reason + "): " + cause->message);
  if (state_.message != before_.message) Advise(cause->reason);
  return true;
}

// Makes the placeholders and waits until each has a node. Returns false where the job may start.
bool ReactiveDecider::HoldsNodes() {
  const FlavorsByName none;
  const auto wanted =
      PlaceholdersFor(*situation_.workload, policy_,
                      RequiredPodSets(*situation_.workload, ReactiveConfig(),
                                      situation_.flavors == nullptr ? none : *situation_.flavors));
  if (wanted.empty()) return false;
  const PlaceholderCount have = CountPlaceholders(wanted, situation_.placeholders);
  if (have.placed == wanted.size()) return false;
  const std::string held = std::to_string(have.placed) + " of " + std::to_string(wanted.size()) +
                           " placeholders have nodes";
  WallTime since = ReservedAt();
  if (!memory_.outcomes.empty()) since = std::max(since, memory_.outcomes.back().at);
  const std::int64_t limit = policy_.placeholders->timeout_seconds;
  const WallTime end = since + seconds(limit);
  if (now_ >= end) {
    const std::int64_t waited = WholeSeconds(since, now_);
    if (plan_.current() == nullptr) {
      Say(CheckState::kPending, held);
    } else if (!Learn(kNoNodesReason, waited)) {
      Count(kGangPartialReason, held + " within " + std::to_string(limit) + " s", waited,
            /*revoked=*/false);
    }
    return true;
  }
  if (ChargesFirst()) return true;
  WakeIn(end - now_);
  if (situation_.placeholders.empty()) WarnOfBudget();
  for (const CreatePlaceholder* missing : have.missing) out_.actions.emplace_back(*missing);
  Say(CheckState::kPending, held);
  return true;
}

void ReactiveDecider::Count(const std::string& reason, const std::string& message,
                            std::int64_t waited, bool revoked) {
  if (TakesChargeBack()) return;
  counted_ = plan_.Count({.attempt = memory_.counted_attempt + 1,
                          .reason = reason,
                          .message = message,
                          .at = now_,
                          .waited_seconds = waited,
                          .revoked = revoked},
                         before_.retry_count.value_or(0));
}

// Records the outcome of the attempt; an empty reason means that all pods have nodes. Returns
// whether the outcome was unknown.
bool ReactiveDecider::Learn(const std::string& reason, std::int64_t waited) {
  if (situation_.stock == nullptr || plan_.current() == nullptr) return false;
  const auto result =
      reason.empty() ? std::optional(api::StockResult::kGranted) : ResultOf(reason, "");
  const api::Workload& workload = *situation_.workload;
  const auto key = StockKeyOf(workload, ReactiveConfig(), plan_.current()->flavor, flavors_);
  if (!result || !key) return false;
  StockLesson lesson{.provisioning_class = kReactiveClass, .key = *key};
  lesson.outcome = {
      .id = StockId(workload.meta.uid + "/" + std::to_string(memory_.counted_attempt + 1)),
      .asked_at = CutToSeconds(ReservedAt()),
      .wait_seconds = reason.empty() ? WholeSeconds(ReservedAt(), now_) : waited,
      .pods = GangOf(workload, ReactiveConfig()).pods(),
      .result = *result};
  lesson.reason = reason;
  lesson.at = now_;
  if (situation_.stock->Knows(lesson)) return false;
  out_.lessons.push_back(std::move(lesson));
  return true;
}

void ReactiveDecider::Advise(const std::string& reason) {
  auto advice = AdviceOn(input_.name, reason, input_.policy != nullptr);
  if (advice) out_.actions.emplace_back(*std::move(advice));
}

void ReactiveDecider::Record() {
  // Left by an earlier reservation.
  if (state_.state != CheckState::kRetry) state_.requeue_after_seconds.reset();
  if (state_.state != CheckState::kReady) state_.pod_set_updates.clear();
  if (state_ == before_) return;
  if (state_.state != before_.state) {
    state_.last_transition_time = CutToSeconds(now_);
    out_.actions.emplace_back(checks::StateEvent(before_, state_));
  }
  out_.checks.push_back(state_);
}

// What a check of reactive capacity does about the day's budget of a LocalQueue (spend.h): an
// attempt is charged before the job, or its placeholders, may start.

VetoInput AboutReactiveSteps(const ReactiveSituation& situation, const std::string& check,
                             const api::ProvisioningPolicy& policy,
                             const ProvisioningMemory& memory, WallTime now) {
  const api::Workload& workload = *situation.workload;
  VetoInput about{policy,
                  ReactiveConfig(),
                  workload,
                  situation.flavors,
                  situation.stock,
                  now,
                  RunLimit(&policy, workload, situation.job_deadline, situation.past_run),
                  situation.spend,
                  {}};
  about.own_charges.insert(OpenReactiveId(workload, check, memory));
  if (NeedsCapacity(workload)) about.own_charges.insert(KeptReactiveId(workload, check));
  about.memory = &memory;
  return about;
}

std::vector<Charge> SettledReactiveCharges(const ReactiveSituation& situation,
                                           const std::string& check,
                                           const ProvisioningMemory& memory) {
  if (situation.spend == nullptr) return {};
  const api::Workload& workload = *situation.workload;
  auto open =
      FindCharge(*situation.spend, QueueOf(workload), OpenReactiveId(workload, check, memory));
  if (!open) return {};
  const Charge kept{open->queue, open->day, KeptReactiveId(workload, check), open->nano_dollars};
  open->nano_dollars = 0;
  if (!SomeNodeCame(situation, memory)) return {*open};
  return {*open, kept};
}

// Whether the charge of the attempt is still to be kept for good: a node has come.
bool ReactiveDecider::SettlesCharge() {
  if (situation_.spend == nullptr || !SomeNodeCame(situation_, memory_)) return false;
  auto charges = SettledReactiveCharges(situation_, input_.name, memory_);
  for (Charge& each : charges) out_.charges.push_back(std::move(each));
  return !charges.empty();
}

// Whether the charge of the attempt, which has ended without nodes, is still to be taken back.
bool ReactiveDecider::TakesChargeBack() {
  auto charges = SettledReactiveCharges(situation_, input_.name, memory_);
  for (Charge& each : charges) out_.charges.push_back(std::move(each));
  return !charges.empty();
}

// Whether the cost of the attempt is still to be recorded: that is done, and written, before the
// job may start. A job that has started is charged where a budget was set on the day of its start.
bool ReactiveDecider::ChargesFirst() {
  const api::ProvisioningStep* step = plan_.current();
  if (step == nullptr || situation_.spend == nullptr || !policy_.max_cost_per_day) return false;
  if (before_.state == api::CheckState::kReady) {
    WallTime begun = before_.last_transition_time;
    if (!memory_.outcomes.empty()) begun = std::max(begun, memory_.outcomes.back().at);
    if (DayOf(begun) != DayOf(now_)) return false;
  }
  const api::Workload& workload = *situation_.workload;
  const std::string queue = QueueOf(workload);
  if (FindCharge(*situation_.spend, queue, KeptReactiveId(workload, input_.name))) return false;
  if (before_.state == api::CheckState::kReady && IsFolded(*situation_.spend, queue, DayOf(now_))) {
    return false;
  }
  const std::string id = OpenReactiveId(workload, input_.name, memory_);
  const auto cost = CostOf(*step, AboutSteps());
  if (!cost || cost->nano_dollars == 0) return false;
  const auto open = FindCharge(*situation_.spend, queue, id);
  Charge charge{queue, open ? open->day : DayOf(now_), id, cost->nano_dollars};
  if (situation_.spend->Knows(charge)) return false;
  out_.charges.push_back(std::move(charge));
  return true;
}

// Where the action is Warn, the job starts all the same, and an event says so once an attempt.
void ReactiveDecider::WarnOfBudget() {
  const api::ProvisioningStep* step = plan_.current();
  if (step == nullptr) return;
  if (policy_.budget_action != api::ProvisioningPolicy::BudgetAction::kWarn) return;
  if (const auto over = OverBudget(*step, AboutSteps())) {
    out_.actions.emplace_back(CheckEvent{"BudgetExceeded",
                                         input_.name + ": step " + step->name + " " + over->message,
                                         /*warning=*/true});
  }
}

}  // namespace berth::provisioning

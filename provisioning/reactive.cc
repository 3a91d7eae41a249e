#include "provisioning/reactive.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "api/labels.h"
#include "api/pod_phase.h"
#include "api/reasons.h"
#include "base/strings.h"
#include "provisioning/check_events.h"
#include "provisioning/gang.h"
#include "provisioning/late_pods.h"
#include "provisioning/placeholders.h"
#include "provisioning/pool_warnings.h"
#include "provisioning/run_duration.h"
#include "provisioning/steps.h"

namespace berth::provisioning {
namespace {

using api::AdmissionCheckState;
using api::CheckState;
using api::ProvisioningMemory;
using std::chrono::seconds;

constexpr char kWaitPrefix[] = "pods wait for nodes (";
constexpr char kReadyMessage[] = "the pods may start: nodes come for pending pods";

const api::ProvisioningRequestConfig& ReactiveConfig() {
  static const api::ProvisioningRequestConfig config = [] {
    api::ProvisioningRequestConfig made;
    made.provisioning_class_name = kReactiveClass;
    return made;
  }();
  return config;
}

api::ProvisioningPolicy WithLimit(const api::ProvisioningPolicy* policy) {
  api::ProvisioningPolicy limited = policy == nullptr ? api::ProvisioningPolicy{} : *policy;
  if (limited.max_wait_seconds == 0) limited.max_wait_seconds = kUsualReactiveWait;
  // A job that kept its quota here would keep its pods.
  using When = api::ProvisioningPolicy::WhenExhausted;
  if (limited.when_exhausted == When::kHold) limited.when_exhausted = When::kCycle;
  return limited;
}

// Since when the scheduler finds no room for the pod; nullopt: the pod does not wait for a node.
std::optional<WallTime> WaitsSince(const api::Pod& pod) {
  if (!pod.spec.node_name.empty() || pod.meta.deletion_timestamp || api::HasEnded(pod)) {
    return std::nullopt;
  }
  const api::Condition* scheduled = api::FindCondition(pod.conditions, "PodScheduled");
  if (scheduled == nullptr || scheduled->status != api::ConditionStatus::kFalse ||
      scheduled->reason != "Unschedulable") {
    return std::nullopt;
  }
  return scheduled->last_transition_time;
}

std::int64_t WholeSeconds(WallTime from, WallTime to) {
  return std::max<std::int64_t>(std::chrono::duration_cast<seconds>(to - from).count(), 0);
}

class ReactiveDecider {
 public:
  ReactiveDecider(const ReactiveSituation& situation, const ReactiveCheck& input,
                  const AdmissionCheckState& before, WallTime now, Decision& out)
      : situation_(situation),
        input_(input),
        before_(before),
        state_(before),
        now_(now),
        out_(out),
        policy_(WithLimit(input.policy)),
        memory_(MemoryOf(situation, input.name)),
        flavors_(FlavorsOf(*situation.workload)),
        vetoes_(VetoesOf({policy_, ReactiveConfig(), *situation.workload, situation.flavors,
                          situation.stock, now, situation.job_deadline})),
        plan_(policy_, ReactiveConfig(), memory_, flavors_, vetoes_, StepInUse()) {}
  ReactiveDecider(const ReactiveDecider&) = delete;
  ReactiveDecider& operator=(const ReactiveDecider&) = delete;

  std::optional<ProvisioningMemory> Run() {
    Follow();
    if (!counted_ && out_.lessons.empty()) Record();
    return std::move(counted_);
  }

 private:
  static ProvisioningMemory MemoryOf(const ReactiveSituation& situation, const std::string& check) {
    const auto found = situation.memory.find(check);
    return found == situation.memory.end() ? ProvisioningMemory{} : found->second;
  }
  // A veto never ends a start that was allowed, nor the wait of placeholders.
  std::string StepInUse() const {
    if (before_.state != CheckState::kReady && situation_.placeholders.empty()) return "";
    const Vetoes none;
    const StepPlan plan(policy_, ReactiveConfig(), memory_, flavors_, none);
    return plan.current() == nullptr ? "" : plan.current()->name;
  }
  void Say(CheckState state, const std::string& message) {
    state_.state = state;
    state_.message = std::string(TruncateUtf8(message, kMaxEventBytes));
  }
  void WakeIn(Duration wait) {
    if (!out_.next_wake || wait < *out_.next_wake) out_.next_wake = wait;
  }
  WallTime ReservedAt() const {
    const auto& conditions = situation_.workload->status.conditions;
    return api::FindCondition(conditions, api::kQuotaReserved)->last_transition_time;
  }

  void Follow();
  bool FollowMemory();
  void FollowVetoes();
  void Allow();
  void WarnOfPools();
  std::vector<api::PodSetUpdate> Updates() const;
  bool FollowLostPods();
  void FollowWaitingPods();
  bool HoldsNodes();
  void Count(const std::string& reason, const std::string& message, std::int64_t waited,
             bool revoked);
  bool Learn(const std::string& reason, std::int64_t waited);
  void Advise(const std::string& reason);
  void Record();

  const ReactiveSituation& situation_;
  const ReactiveCheck& input_;
  const AdmissionCheckState& before_;
  AdmissionCheckState state_;
  const WallTime now_;
  Decision& out_;
  const api::ProvisioningPolicy policy_;
  const ProvisioningMemory memory_;
  const std::vector<std::string> flavors_;
  const Vetoes vetoes_;
  const StepPlan plan_;
  std::optional<ProvisioningMemory> counted_;
};

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
  if (FollowMemory()) return;
  if (state_.state != CheckState::kReady) {
    if (plan_.concerned() && plan_.current() == nullptr) return FollowVetoes();
    if (HoldsNodes()) return;
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
  const std::string message = "No step may start: " + plan_.PassedOver();
  if (plan_.never_fits()) {
    Advise(kNeverFitsReason);
    return Say(CheckState::kRejected, message);
  }
  const auto end = plan_.FirstVetoEnd();
  Say(end ? CheckState::kRetry : CheckState::kPending, message);
  if (end) state_.requeue_after_seconds = static_cast<std::int32_t>(WholeSeconds(now_, *end) + 1);
}

void ReactiveDecider::Allow() {
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

// With onRevoked: Requeue, a pod that lost its node ends the attempt. Returns whether one did.
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
    if (before_.state == CheckState::kReady && state_.message.starts_with(kWaitPrefix)) {
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
  WakeIn(std::min<Duration>(since + seconds(limit) - now_, kLookAgain));
  if (now_ - since < kQuietWait) return WakeIn(since + kQuietWait - now_);
  state_.message =
      std::string(TruncateUtf8(kWaitPrefix + cause.reason + "): " + cause.message, kMaxEventBytes));
  if (state_.message != before_.message) Advise(cause.reason);
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
  WakeIn(end - now_);
  for (const CreatePlaceholder* missing : have.missing) out_.actions.emplace_back(*missing);
  Say(CheckState::kPending, held);
  return true;
}

void ReactiveDecider::Count(const std::string& reason, const std::string& message,
                            std::int64_t waited, bool revoked) {
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
  if (auto advice = AdviceOn(input_.name, reason)) out_.actions.emplace_back(*std::move(advice));
}

void ReactiveDecider::Record() {
  // Left by an earlier reservation.
  if (state_.state != CheckState::kRetry) state_.requeue_after_seconds.reset();
  if (state_.state != CheckState::kReady) state_.pod_set_updates.clear();
  if (state_ == before_) return;
  if (state_.state != before_.state) {
    state_.last_transition_time = CutToSeconds(now_);
    out_.actions.emplace_back(StateEvent(before_, state_));
  }
  out_.checks.push_back(state_);
}

Decision DecideReactiveChecks(const ReactiveSituation& situation, WallTime now,
                              api::MemoryByCheck& memory) {
  Decision decision;
  for (const ReactiveCheck& input : situation.checks) {
    const auto& states = situation.workload->status.admission_checks;
    const auto before =
        std::find_if(states.begin(), states.end(),
                     [&input](const AdmissionCheckState& each) { return each.name == input.name; });
    if (before == states.end()) continue;
    ReactiveDecider decider(situation, input, *before, now, decision);
    if (auto counted = decider.Run()) memory[input.name] = *std::move(counted);
  }
  return decision;
}

bool IsInUse(const api::Workload& workload, const std::string& check) {
  const auto& states = workload.status.admission_checks;
  return NeedsCapacity(workload) && std::any_of(states.begin(), states.end(), [&](const auto& s) {
           return s.name == check && s.state == CheckState::kReady;
         });
}

struct ReactiveAvoided {
  std::set<std::string> flavors;
  std::optional<WallTime> until;  // the first end of a veto
};

// Placeholders go when the job's pods are there to take their nodes, and when nothing waits for
// them.
void RetirePlaceholders(const ReactiveSituation& situation, WallTime now, Decision& decision) {
  if (situation.placeholders.empty()) return;
  bool waits = false;
  for (const ReactiveCheck& input : situation.checks) {
    if (!NeedsCapacity(*situation.workload) || input.policy == nullptr) continue;
    for (const AdmissionCheckState& state : situation.workload->status.admission_checks) {
      if (state.name != input.name || !input.policy->placeholders) continue;
      if (state.state == CheckState::kPending) waits = true;
      if (state.state != CheckState::kReady) continue;
      const auto pods = GangOf(*situation.workload, ReactiveConfig()).pods();
      const WallTime end =
          state.last_transition_time + seconds(input.policy->placeholders->timeout_seconds);
      if (static_cast<std::int64_t>(situation.pods.size()) >= pods || now >= end) continue;
      waits = true;
      decision.next_wake = std::min(decision.next_wake.value_or(end - now), end - now);
    }
  }
  if (waits) return;
  for (const api::Pod* pod : situation.placeholders) {
    if (!pod->meta.deletion_timestamp) {
      decision.actions.emplace_back(DeletePlaceholder{pod->meta.name});
    }
  }
}

// The flavors that the policies have used up, and those that they pass over; the latter only while
// the job does not run.
ReactiveAvoided ReactiveFlavors(const ReactiveSituation& situation,
                                const api::MemoryByCheck& memory, WallTime now) {
  ReactiveAvoided avoided;
  const std::vector<std::string> any;
  for (const ReactiveCheck& input : situation.checks) {
    if (input.policy == nullptr || !input.active) continue;
    const api::ProvisioningPolicy policy = WithLimit(input.policy);
    const auto found = memory.find(input.name);
    const ProvisioningMemory known = found == memory.end() ? ProvisioningMemory{} : found->second;
    const bool in_use = IsInUse(*situation.workload, input.name);
    const Vetoes vetoes =
        in_use ? Vetoes{}
               : VetoesOf({policy, ReactiveConfig(), *situation.workload, situation.flavors,
                           situation.stock, now, situation.job_deadline});
    const StepPlan plan(policy, ReactiveConfig(), known, any, vetoes);
    for (std::string& flavor : plan.FlavorsToAvoid()) avoided.flavors.insert(std::move(flavor));
    const auto end = plan.FirstVetoEnd();
    if (end) avoided.until = std::min(avoided.until.value_or(*end), *end);
  }
  return avoided;
}

}  // namespace

LongestWait LongestWaitOf(const std::vector<const api::Pod*>& pods) {
  LongestWait longest;
  for (const api::Pod* pod : pods) {
    const auto since = WaitsSince(*pod);
    if (!since || (longest.pod != nullptr && *since >= longest.since)) continue;
    longest = {pod, *since};
  }
  return longest;
}

Decision DecideReactive(const ReactiveSituation& situation, WallTime now) {
  const api::Workload& workload = *situation.workload;
  Decision decision;
  RetirePlaceholders(situation, now, decision);
  if (!decision.actions.empty()) return decision;
  if (situation.checks.empty() || api::IsTrue(workload.status.conditions, api::kFinished)) {
    return {};
  }
  api::MemoryByCheck memory = situation.memory;
  const std::optional<Duration> retires = decision.next_wake;
  if (NeedsCapacity(workload)) decision = DecideReactiveChecks(situation, now, memory);
  if (retires) decision.next_wake = std::min(decision.next_wake.value_or(*retires), *retires);
  if (!decision.lessons.empty()) return {.lessons = std::move(decision.lessons)};
  const std::string* written =
      api::FindValue(workload.meta.annotations, api::kReactiveAvoidedFlavorsAnnotation);
  const ReactiveAvoided avoided = ReactiveFlavors(situation, memory, now);
  std::string text = Join({avoided.flavors.begin(), avoided.flavors.end()}, ",");
  if (memory != situation.memory || text != (written == nullptr ? "" : *written)) {
    return {.memory = MemoryWrite{.memory = std::move(memory), .avoided_flavors = std::move(text)}};
  }
  if (avoided.until && workload.spec.active) {
    const Duration wait = std::max<Duration>(*avoided.until - now, Duration::zero());
    decision.next_wake = std::min(decision.next_wake.value_or(wait), wait);
  }
  return decision;
}

}  // namespace berth::provisioning

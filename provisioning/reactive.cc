#include "provisioning/reactive.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "api/labels.h"
#include "api/pod_phase.h"
#include "api/reasons.h"
#include "base/strings.h"
#include "provisioning/gang.h"
#include "provisioning/policy_steps.h"
#include "provisioning/reactive_decider.h"

namespace berth::provisioning {
namespace {

using api::AdmissionCheckState;
using api::CheckState;
using api::ProvisioningMemory;
using std::chrono::seconds;

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
  std::optional<WallTime> until;   // the first end of a veto
  bool for_budget = false;         // some step waits for the budget of the day
  std::set<std::string> for_time;  // checks that begin to pass a step over for a quicker one
};

// Settles the charges of attempts whose quota is gone.
void SettleReactiveCharges(const ReactiveSituation& situation, Decision& decision) {
  for (const ReactiveCheck& input : situation.checks) {
    const auto found = situation.memory.find(input.name);
    const ProvisioningMemory none;
    for (Charge& charge : SettledReactiveCharges(
             situation, input.name, found == situation.memory.end() ? none : found->second)) {
      decision.charges.push_back(std::move(charge));
    }
  }
}

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
    const api::ProvisioningPolicy policy = WithReactiveLimit(input.policy);
    const auto found = memory.find(input.name);
    const ProvisioningMemory known = found == memory.end() ? ProvisioningMemory{} : found->second;
    const bool in_use = IsInUse(*situation.workload, input.name);
    const Vetoes vetoes =
        in_use ? Vetoes{} : VetoesOf(AboutReactiveSteps(situation, input.name, policy, known, now));
    const StepPlan plan(policy, ReactiveConfig(), known, any, vetoes);
    for (std::string& flavor : plan.FlavorsToAvoid()) avoided.flavors.insert(std::move(flavor));
    avoided.for_budget = avoided.for_budget || (!in_use && plan.waits_for_budget());
    if (plan.passes_over_slow_steps() && known.passed_over == WallTime{}) {
      avoided.for_time.insert(input.name);
    }
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
  if (!NeedsCapacity(workload)) SettleReactiveCharges(situation, decision);
  if (!decision.charges.empty()) return {.charges = std::move(decision.charges)};
  if (situation.checks.empty() || api::IsTrue(workload.status.conditions, api::kFinished)) {
    return {};
  }
  api::MemoryByCheck memory = situation.memory;
  const std::optional<Duration> retires = decision.next_wake;
  if (NeedsCapacity(workload)) decision = DecideReactiveChecks(situation, now, memory);
  if (retires) decision.next_wake = std::min(decision.next_wake.value_or(*retires), *retires);
  if (!decision.lessons.empty()) return {.lessons = std::move(decision.lessons)};
  if (!decision.charges.empty()) return {.charges = std::move(decision.charges)};
  const std::string* written =
      api::FindValue(workload.meta.annotations, api::kReactiveAvoidedFlavorsAnnotation);
  const ReactiveAvoided avoided = ReactiveFlavors(situation, memory, now);
  if (workload.spec.active) {
    for (const std::string& check : avoided.for_time) memory[check].passed_over = CutToSeconds(now);
  }
  std::string text = Join({avoided.flavors.begin(), avoided.flavors.end()}, ",");
  if (memory != situation.memory || text != (written == nullptr ? "" : *written)) {
    return {.memory = MemoryWrite{.memory = std::move(memory), .avoided_flavors = std::move(text)}};
  }
  if (workload.spec.active && avoided.for_budget) decision.waits_for_budget = true;
  if (avoided.until && workload.spec.active) {
    const Duration wait = std::max<Duration>(*avoided.until - now, Duration::zero());
    decision.next_wake = std::min(decision.next_wake.value_or(wait), wait);
  }
  return decision;
}

}  // namespace berth::provisioning

#include "provisioning/decide.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "api/labels.h"
#include "api/reasons.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "provisioning/asked_requests.h"
#include "provisioning/day_charges.h"
#include "provisioning/decide_check.h"
#include "provisioning/lease.h"
#include "provisioning/policy_steps.h"
#include "provisioning/request_names.h"
#include "provisioning/request_state.h"
#include "provisioning/ways/check_situation.h"

namespace berth::provisioning {
namespace {

constexpr std::int32_t kAttemptsLookedAt = 8;  // for charges that a crash has left

// Deletes everything that asks for capacity.
Decision CleanUp(const Situation& situation) {
  Decision decision;
  for (const api::ProvisioningRequest& request : situation.requests) {
    if (!request.meta.deletion_timestamp) {
      decision.actions.emplace_back(DeleteRequest{request.meta.name});
    }
  }
  for (const TemplateSeen& each : situation.templates) {
    decision.actions.emplace_back(DeleteTemplate{each.name});
  }
  return decision;
}

// What follows for the charge of the request in any check.
std::vector<Charge> SettledInAll(const Situation& situation,
                                 const api::ProvisioningRequest& request) {
  std::vector<Charge> settled;
  if (situation.spend == nullptr) return settled;
  for (const CheckInput& input : situation.checks) {
    for (Charge& charge :
         SettledCharges(*situation.spend, *situation.workload, input.name, request)) {
      settled.push_back(std::move(charge));
    }
  }
  return settled;
}

// Settles the charges of requests that are about to be deleted and can no longer be granted.
void SettleCharges(const Situation& situation, Decision& decision) {
  for (const api::ProvisioningRequest& request : situation.requests) {
    if (MayBeGranted(request)) continue;
    for (Charge& charge : SettledInAll(situation, request)) {
      decision.charges.push_back(std::move(charge));
    }
  }
}

// Gives each deletion the charges that it settles.
void AddCharges(const Situation& situation, std::vector<Action>& actions) {
  for (Action& action : actions) {
    auto* drop = std::get_if<DeleteRequest>(&action);
    if (drop == nullptr) continue;
    for (const api::ProvisioningRequest& request : situation.requests) {
      if (request.meta.name != drop->name) continue;
      drop->charges = SettledInAll(situation, request);
      if (!drop->charges.empty()) drop->resource_version = request.meta.resource_version;
    }
  }
}

// Takes back the charges of requests that are gone: the process ended after their deletion.
void TakeBackLeftCharges(const Situation& situation, WallTime now, Decision& decision) {
  if (situation.spend == nullptr) return;
  const api::Workload& workload = *situation.workload;
  const std::string queue = QueueOf(workload);
  for (const CheckInput& input : situation.checks) {
    const auto memory = situation.memory.find(input.name);
    if (memory == situation.memory.end()) continue;
    std::set<std::int32_t> there;
    for (const api::ProvisioningRequest& request : situation.requests) {
      there.insert(AttemptOf(request.meta.name, workload.meta.name, input.name).value_or(0));
    }
    const std::int32_t counted = memory->second.counted_attempt;
    for (std::int32_t each = counted; each > std::max(counted - kAttemptsLookedAt, 0); --each) {
      if (there.contains(each)) continue;
      const Charge left{queue, DayOf(now), ChargeId(workload, input.name, each), 0};
      if (!situation.spend->Knows(left)) decision.charges.push_back(left);
    }
  }
}

// Releases the leases of the Workload, and of an earlier Workload of its name, that no check uses.
void ReleaseLeases(const Situation& situation, bool in_use, Decision& decision) {
  if (!situation.nodes) return;
  std::set<std::string> holders;
  for (const CheckInput& input : situation.checks) {
    if (in_use) holders.insert(LeaseHolder(situation.workload->meta.uid, input.name));
  }
  for (const NodeSeen& seen : situation.nodes->nodes) {
    const auto lease = LeaseOf(*seen.node);
    if (!lease || LeasedTo(*seen.node) != situation.workload->meta.key()) continue;
    if (holders.contains(lease->holder)) continue;
    decision.actions.emplace_back(
        ReleaseLease{seen.node->meta.name, seen.node->meta.resource_version});
  }
}

struct Avoided {
  std::set<std::string> flavors;
  std::optional<WallTime> until;   // the first end of a veto
  bool for_budget = false;         // some step waits for the budget of the day
  std::set<std::string> for_time;  // checks that begin to pass a step over for a quicker one
};

void AddAll(std::vector<std::string> flavors, std::set<std::string>& into) {
  for (std::string& flavor : flavors) into.insert(std::move(flavor));
}

using VetoesByCheck = std::map<std::string, Vetoes>;

Vetoes VetoesWith(const api::ProvisioningMemory& memory, const Situation& situation,
                  const CheckInput& input, WallTime now) {
  VetoInput about = AboutSteps(situation, input, memory, now);
  about.asked = HasLiveRequest(situation, input.name, memory.counted_attempt);
  return VetoesOf(about);
}

// Adds the flavors that the policy of the check has used up, and those that it passes over. While a
// request exists the Workload stays where it is: flavors that it comes to pass over meanwhile need
// not be written.
void AddAvoided(const Situation& situation, const CheckInput& input,
                const api::ProvisioningMemory& memory, const Vetoes& vetoes,
                const std::set<std::string>& written, Avoided& avoided) {
  const std::vector<std::string> any;
  const Vetoes none;
  const StepPlan plan(*input.policy, *input.config, memory, any, vetoes);
  // A Workload that was held may come back with whatever flavor.
  if (!plan.was_held()) {
    AddAll(StepPlan(*input.policy, *input.config, memory, any, none).FlavorsToAvoid(),
           avoided.flavors);
  }
  const bool asked = NeedsCapacity(*situation.workload) &&
                     !AskedStep(situation, input.name, memory.counted_attempt).empty();
  // Expected waits are not looked at while a request exists.
  for (const api::ProvisioningStep& step : input.policy->steps) {
    const bool slow = asked && step.min_eta_gain_seconds > 0;
    if (slow && written.contains(step.flavor)) avoided.flavors.insert(step.flavor);
  }
  for (std::string& flavor : plan.FlavorsToAvoid()) {
    if (!asked || written.contains(flavor)) avoided.flavors.insert(std::move(flavor));
  }
  avoided.for_budget = avoided.for_budget || (!asked && plan.waits_for_budget());
  if (!asked && plan.passes_over_slow_steps() && memory.passed_over == WallTime{}) {
    avoided.for_time.insert(input.name);
  }
  const auto end = asked ? std::nullopt : plan.FirstVetoEnd();
  if (end) avoided.until = std::min(avoided.until.value_or(*end), *end);
}

// `known`: the vetoes of checks whose memory has not changed in this decision.
Avoided AvoidedFlavors(const Situation& situation, const api::MemoryByCheck& memory,
                       const VetoesByCheck& known, const std::string& before, WallTime now) {
  std::set<std::string> written;
  for (const std::string_view flavor : Split(before, ',')) written.emplace(flavor);
  Avoided avoided;
  const api::ProvisioningMemory nothing;
  for (const CheckInput& input : situation.checks) {
    if (input.policy == nullptr || input.config == nullptr) continue;
    const auto found = memory.find(input.name);
    const api::ProvisioningMemory& of_check = found == memory.end() ? nothing : found->second;
    const auto vetoes = known.find(input.name);
    AddAvoided(situation, input, of_check,
               vetoes == known.end() ? VetoesWith(of_check, situation, input, now) : vetoes->second,
               written, avoided);
  }
  return avoided;
}

Decision DecideChecks(const Situation& situation, const DecideOptions& options, WallTime now,
                      api::MemoryByCheck& memory, VetoesByCheck& vetoes) {
  Decision decision;
  for (const CheckInput& input : situation.checks) {
    const auto& states = situation.workload->status.admission_checks;
    const auto before = std::find_if(
        states.begin(), states.end(),
        [&input](const api::AdmissionCheckState& each) { return each.name == input.name; });
    if (before == states.end()) continue;
    CheckOutcome outcome = DecideCheck(situation, input, *before, options, now, decision);
    if (outcome.memory) {
      memory[input.name] = *std::move(outcome.memory);
    } else {
      vetoes[input.name] = std::move(outcome.vetoes);
    }
  }
  return decision;
}

}  // namespace

bool NeedsCapacity(const api::Workload& workload) {
  const auto& conditions = workload.status.conditions;
  return !workload.meta.deletion_timestamp && workload.spec.active &&
         workload.status.admission.has_value() && api::IsTrue(conditions, api::kQuotaReserved) &&
         !api::IsTrue(conditions, api::kFinished) && !api::IsTrue(conditions, api::kEvicted);
}

bool KeepsRequests(const api::Workload& workload) {
  const auto& conditions = workload.status.conditions;
  if (workload.meta.deletion_timestamp || !workload.spec.active ||
      api::IsTrue(conditions, api::kFinished) || api::IsTrue(conditions, api::kEvicted)) {
    return false;
  }
  const api::Condition* reserved = api::FindCondition(conditions, api::kQuotaReserved);
  const std::string reason = reserved == nullptr ? "" : reserved->reason;
  return reason != api::kSuspended && reason != api::kMisconfigured && reason != api::kOnHold;
}

Lane LaneOf(const std::string& provisioning_class, const std::vector<std::string>& flavors) {
  return {.provisioning_class = provisioning_class, .flavors = Join(flavors, "+")};
}

Decision Decide(const Situation& situation, const DecideOptions& options, WallTime now) {
  const api::Workload& workload = *situation.workload;
  api::MemoryByCheck memory = situation.memory;
  const bool needs = NeedsCapacity(workload);
  VetoesByCheck vetoes;
  const bool keeps = !needs && KeepsRequests(workload);
  Decision decision;
  if (needs) {
    decision = DecideChecks(situation, options, now, memory, vetoes);
  } else if (!keeps) {
    decision = CleanUp(situation);
  }
  ReleaseLeases(situation, needs, decision);
  if (!needs && !keeps) SettleCharges(situation, decision);
  TakeBackLeftCharges(situation, now, decision);
  if (!decision.charges.empty()) return {.charges = std::move(decision.charges)};
  if (!decision.lessons.empty()) return {.lessons = std::move(decision.lessons)};
  AddCharges(situation, decision.actions);
  const std::string* written =
      api::FindValue(workload.meta.annotations, api::kAvoidedFlavorsAnnotation);
  const std::string before = written == nullptr ? "" : *written;
  // Nobody will read what is remembered of a Workload that has ended or goes.
  const bool goes = workload.meta.deletion_timestamp.has_value();
  if (goes || api::IsTrue(workload.status.conditions, api::kFinished)) return decision;
  const Avoided avoided = AvoidedFlavors(situation, memory, vetoes, before, now);
  if (workload.spec.active) {
    for (const std::string& check : avoided.for_time) {
      memory[check].passed_over = CutToSeconds(now);
    }
  }
  // The end of a veto wakes no Workload that is not active: what was written for it stands.
  std::string text =
      workload.spec.active ? Join({avoided.flavors.begin(), avoided.flavors.end()}, ",") : before;
  std::string expires = decision.expires_at ? FormatTime(*decision.expires_at) : "";
  const std::string* told = api::FindValue(workload.meta.annotations, api::kExpiresAtAnnotation);
  const bool moved = expires != (told == nullptr ? "" : *told);
  if (memory != situation.memory || text != before || moved) {
    return {.memory = MemoryWrite{std::move(memory), std::move(text), std::move(expires),
                                  std::move(decision.told)}};
  }
  if (workload.spec.active && avoided.for_budget) decision.waits_for_budget = true;
  if (avoided.until && workload.spec.active) {
    const Duration wait = std::max<Duration>(*avoided.until - now, Duration::zero());
    decision.next_wake = std::min(decision.next_wake.value_or(wait), wait);
  }
  return decision;
}

}  // namespace berth::provisioning

#include "provisioning/decide.h"

#include <algorithm>
#include <set>
#include <utility>

#include "api/labels.h"
#include "api/reasons.h"
#include "base/strings.h"
#include "provisioning/check_decider.h"
#include "provisioning/steps.h"

namespace berth::provisioning {
namespace {

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

bool NeedsCapacity(const api::Workload& workload) {
  const auto& conditions = workload.status.conditions;
  return !workload.meta.deletion_timestamp && workload.spec.active &&
         workload.status.admission.has_value() && api::IsTrue(conditions, api::kQuotaReserved) &&
         !api::IsTrue(conditions, api::kFinished) && !api::IsTrue(conditions, api::kEvicted);
}

// The flavors that the policies of all checks have used up or pass over, joined by commas.
std::string AvoidedFlavors(const Situation& situation, const api::MemoryByCheck& memory) {
  std::set<std::string> avoided;
  const std::vector<std::string> any;
  for (const CheckInput& input : situation.checks) {
    if (input.policy == nullptr || input.config == nullptr) continue;
    const auto found = memory.find(input.name);
    const api::ProvisioningMemory nothing;
    const Vetoes vetoes =
        VetoesOf({*input.policy, *input.config, *situation.workload, situation.flavors});
    const StepPlan plan(*input.policy, *input.config,
                        found == memory.end() ? nothing : found->second, any, vetoes);
    for (std::string& flavor : plan.FlavorsToAvoid()) avoided.insert(std::move(flavor));
  }
  return Join({avoided.begin(), avoided.end()}, ",");
}

Decision DecideChecks(const Situation& situation, const DecideOptions& options, WallTime now,
                      api::MemoryByCheck& memory) {
  Decision decision;
  for (const CheckInput& input : situation.checks) {
    const auto& states = situation.workload->status.admission_checks;
    const auto before = std::find_if(
        states.begin(), states.end(),
        [&input](const api::AdmissionCheckState& each) { return each.name == input.name; });
    if (before == states.end()) continue;
    CheckDecider decider(situation, input, *before, options, now, decision);
    if (auto counted = decider.Run()) memory[input.name] = *std::move(counted);
  }
  return decision;
}

}  // namespace

Decision Decide(const Situation& situation, const DecideOptions& options, WallTime now) {
  api::MemoryByCheck memory = situation.memory;
  Decision decision = NeedsCapacity(*situation.workload)
                          ? DecideChecks(situation, options, now, memory)
                          : CleanUp(situation);
  const std::string* written =
      api::FindValue(situation.workload->meta.annotations, api::kAvoidedFlavorsAnnotation);
  const std::string before = written == nullptr ? "" : *written;
  const bool finished = api::IsTrue(situation.workload->status.conditions, api::kFinished);
  const std::string avoided = finished ? before : AvoidedFlavors(situation, memory);
  const bool stale = avoided != before;
  if (memory == situation.memory && !stale) return decision;
  return {.memory = MemoryWrite{std::move(memory), avoided}};
}

}  // namespace berth::provisioning

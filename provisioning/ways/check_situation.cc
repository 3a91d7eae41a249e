#include "provisioning/ways/check_situation.h"

#include <chrono>

#include "api/reasons.h"
#include "provisioning/asked_requests.h"
#include "provisioning/day_charges.h"
#include "provisioning/request_names.h"
#include "provisioning/run_duration.h"
#include "provisioning/ways/request_parts.h"
#include "provisioning/ways/selection.h"

namespace berth::provisioning {

using api::ProvisioningRequest;
using api::ProvisioningStep;

CheckSituation::CheckSituation(const Situation& of_workload, const CheckInput& of_check,
                               const api::AdmissionCheckState& state, const DecideOptions& with,
                               WallTime at)
    : situation(of_workload),
      workload(*of_workload.workload),
      input(of_check),
      before(state),
      options(with),
      now(at),
      flavors(FlavorsOf(*of_workload.workload)) {
  if (input.config == nullptr) return;
  if (input.policy != nullptr) {
    const auto known = situation.memory.find(input.name);
    if (known != situation.memory.end()) memory = known->second;
    VetoInput about = AboutSteps();
    about.asked = HasLiveRequest(situation, input.name, memory.counted_attempt);
    vetoes = VetoesOf(about);
    plan.emplace(*input.policy, *input.config, memory, flavors, vetoes,
                 AskedStep(situation, input.name, memory.counted_attempt));
    if (!plan->concerned()) plan.reset();
  }
  const FlavorsByName none;
  groups =
      RequiredPodSets(workload, config(), situation.flavors != nullptr ? *situation.flavors : none);
  parts = SplitByFlavors(*this);
  first = FirstPart(*this);
  runners = SelectRunners(*this);
}

bool CheckSituation::admitted() const {
  return api::IsTrue(workload.status.conditions, api::kAdmitted);
}

std::optional<std::int32_t> CheckSituation::AttemptOf(const ProvisioningRequest& request) const {
  return provisioning::AttemptOf(request.meta.name, workload.meta.name, input.name);
}

std::int32_t CheckSituation::NextAttempt() const {
  return provisioning::NextAttempt(situation, input, memory);
}

const ProvisioningStep* CheckSituation::StepOf(const ProvisioningRequest& request) const {
  if (!plan) return nullptr;
  const ProvisioningStep* step = RaceOf(request) == 0 ? nullptr : plan->Find(StepNameOf(request));
  return step == nullptr ? plan->current() : step;
}

std::int32_t CheckSituation::FailedAttempts(const ProvisioningStep& step) const {
  const auto used = memory.steps.find(step.name);
  return used == memory.steps.end() ? 0 : used->second.attempts;
}

const Veto* CheckSituation::VetoOf(const ProvisioningStep& step) const {
  const auto veto = vetoes.find(step.name);
  return veto != vetoes.end() && veto->second.in_favor_of.empty() ? &veto->second : nullptr;
}

VetoInput CheckSituation::AboutSteps() const {
  return provisioning::AboutSteps(situation, input, memory, now);
}

std::optional<std::int64_t> CheckSituation::RunOfJob() const {
  return RunLimit(input.policy, workload, situation.job_deadline, situation.past_run);
}

bool CheckSituation::Races() const {
  return plan && input.policy->race && input.policy->race->width > 1;
}

UpdateOptions CheckSituation::Updates() const {
  UpdateOptions updates = options.updates;
  if (input.policy != nullptr) updates.protect_pods = input.policy->protect_pods;
  return updates;
}

VetoInput AboutSteps(const Situation& situation, const CheckInput& input,
                     const api::ProvisioningMemory& memory, WallTime now) {
  const api::Workload& workload = *situation.workload;
  VetoInput about{*input.policy,
                  *input.config,
                  workload,
                  situation.flavors,
                  situation.stock,
                  now,
                  RunLimit(input.policy, workload, situation.job_deadline, situation.past_run),
                  situation.spend,
                  ReplacedCharges(situation, input, memory)};
  about.memory = &memory;
  return about;
}

std::int64_t SecondsBetween(WallTime from, WallTime to) {
  return std::chrono::duration_cast<std::chrono::seconds>(to - from).count();
}

}  // namespace berth::provisioning

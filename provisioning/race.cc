#include "provisioning/race.h"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "api/labels.h"
#include "base/strings.h"
#include "provisioning/gang.h"
#include "provisioning/policy_steps.h"
#include "provisioning/request_names.h"
#include "provisioning/request_state.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningRequest;

constexpr std::int64_t kIdleSeconds = 600;
constexpr std::int64_t kUsualBoot = 300;
constexpr std::size_t kMostAttempts = 16;

}  // namespace

std::int32_t RaceOf(const ProvisioningRequest& request) {
  const std::string* race = api::FindValue(request.meta.annotations, api::kRaceAnnotation);
  const std::int64_t first = race == nullptr ? 0 : ParseInt64(*race).value_or(0);
  return first > 0 && first <= INT32_MAX ? static_cast<std::int32_t>(first) : 0;
}

std::optional<WallTime> GrantedAt(const ProvisioningRequest& request) {
  if (StateOf(request) != RequestState::kProvisioned) return std::nullopt;
  return api::FindCondition(request.conditions, kProvisionedCondition)->last_transition_time;
}

const Runner* WinnerOf(const std::vector<Runner>& runners) {
  const auto rank = [](const Runner& runner) {
    return std::tuple(GrantedAt(*runner.request).value_or(WallTime::max()),
                      runner.price.value_or(INT64_MAX), runner.attempt);
  };
  const auto best =
      std::min_element(runners.begin(), runners.end(),
                       [&rank](const Runner& a, const Runner& b) { return rank(a) < rank(b); });
  return best == runners.end() || !GrantedAt(*best->request) ? nullptr : &*best;
}

bool HasLost(const ProvisioningRequest& request, const api::Workload& workload) {
  if (RaceOf(request) == 0) return false;
  return std::any_of(workload.status.admission_checks.begin(),
                     workload.status.admission_checks.end(),
                     [&](const api::AdmissionCheckState& check) {
                       if (check.state != api::CheckState::kReady) return false;
                       if (!AttemptOf(request.meta.name, workload.meta.name, check.name))
                         return false;
                       const std::string winner = NamedWinner(check.pod_set_updates);
                       return !winner.empty() && winner != request.meta.name;
                     });
}

std::string NamedWinner(const std::vector<api::PodSetUpdate>& updates) {
  for (const api::PodSetUpdate& update : updates) {
    const std::string* name =
        api::FindValue(update.annotations, api::kConsumeProvisioningRequestAnnotation);
    if (name != nullptr) return *name;
  }
  return "";
}

bool RacesInTheCloud(const api::ProvisioningStep& step, const std::string& provisioning_class,
                     bool selects, const VetoInput& input) {
  const auto& race = input.policy.race;
  if (!race || race->width < 2 || race->over != api::ProvisioningRace::Over::kZones) return false;
  if (!step.zones.empty() || selects) return false;
  if (provisioning_class != api::kQueuedProvisioningClass) return false;
  if (!step.pool) return true;
  const NodesNeeded needed =
      LeastNodes(GangOf(input.workload, WithStep(input.config, step)), step.pool->node);
  // All zones may come through: the pool must have room for their nodes.
  return api::MultiplyAmounts(needed.nodes, race->width) <= step.pool->max_nodes;
}

Waste WasteOf(WallTime granted, WallTime deleted, std::int64_t nodes,
              std::optional<std::int64_t> price) {
  constexpr std::int64_t kSecondsPerHour = 3600;
  constexpr std::int64_t kNanoPerPart = 100;  // keeps a year of a thousand dear nodes in range
  const std::int64_t since =
      std::chrono::duration_cast<std::chrono::seconds>(deleted - granted).count();
  Waste waste;
  waste.node_seconds = api::MultiplyAmounts(std::max<std::int64_t>(since, 0) + kIdleSeconds, nodes);
  const std::int64_t parts =
      api::MultiplyAmounts(price.value_or(0) / kNanoPerPart, waste.node_seconds);
  waste.nano_dollars = api::MultiplyAmounts(parts / kSecondsPerHour, kNanoPerPart);
  return waste;
}

Waste WasteBound(const api::ProvisioningRace& race, std::int64_t nodes,
                 std::optional<std::int64_t> price) {
  const std::int64_t in_vain = std::max<std::int64_t>(race.width - 1, 0);
  const WallTime granted{};
  return WasteOf(granted, granted + std::chrono::seconds(kUsualBoot + race.keep_surplus_seconds),
                 api::MultiplyAmounts(in_vain, nodes), price);
}

bool MayRace(const api::ProvisioningPolicy& policy, const api::ProvisioningStep& step,
             const std::string& provisioning_class) {
  if (!policy.race || policy.race->width < 2) return false;
  if (policy.race->over == api::ProvisioningRace::Over::kSteps) return true;
  return step.zones.size() > 1 ||
         (step.zones.empty() && provisioning_class == api::kQueuedProvisioningClass);
}

bool BookWaste(std::int32_t attempt, const Waste& waste, api::ProvisioningMemory& memory) {
  std::vector<std::int32_t>& known = memory.race_waste.attempts;
  if (std::find(known.begin(), known.end(), attempt) != known.end()) return false;
  known.push_back(attempt);
  if (known.size() > kMostAttempts) known.erase(known.begin());
  memory.race_waste.node_seconds =
      api::AddAmounts(memory.race_waste.node_seconds, waste.node_seconds);
  memory.race_waste.nano_dollars =
      api::AddAmounts(memory.race_waste.nano_dollars, waste.nano_dollars);
  return true;
}

}  // namespace berth::provisioning

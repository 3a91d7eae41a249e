#include "provisioning/ways/surplus.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "provisioning/gang.h"
#include "provisioning/money.h"
#include "provisioning/race.h"
#include "provisioning/request_state.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningRequest;

// Until when the request stays that has lost after its nodes had come; nullopt: it goes at once.
std::optional<WallTime> SurplusEnd(const CheckSituation& check,
                                   const ProvisioningRequest& request) {
  const auto granted = GrantedAt(request);
  const std::int64_t keep = check.plan && check.input.policy->race && RaceOf(request) != 0
                                ? check.input.policy->race->keep_surplus_seconds
                                : 0;
  if (!granted || keep == 0) return std::nullopt;
  const WallTime decided =
      check.is_ready() ? check.before.last_transition_time : CutToSeconds(check.now);
  return std::max(*granted, decided) + std::chrono::seconds(keep);
}

// Counts the nodes that came for a request that has lost.
void BookSurplus(const CheckSituation& check, const ProvisioningRequest& request, Move& move) {
  const auto granted = GrantedAt(request);
  if (!granted || !check.plan || RaceOf(request) == 0) return;
  const api::ProvisioningStep* step = check.StepOf(request);
  if (step == nullptr) return;
  const auto price = PriceOf(*step, check.situation.flavors);
  const std::int64_t nodes =
      NodesOf(*step, GangOf(check.workload, WithStep(*check.input.config, *step)));
  const Waste waste = WasteOf(*granted, SurplusEnd(check, request).value_or(check.now), nodes,
                              price ? std::optional(price->NanoValue()) : std::nullopt);
  api::ProvisioningMemory memory = move.memory.value_or(check.memory);
  const auto attempt = check.AttemptOf(request);
  if (!attempt || !BookWaste(*attempt, waste, memory)) return;
  move.memory = std::move(memory);
  std::string message = check.input.name + ": ProvisioningRequest " + request.meta.name +
                        " lost the race after its " + std::to_string(nodes) +
                        (nodes == 1 ? " node" : " nodes") + " had come";
  if (price) message += "; about " + Dollars(waste.nano_dollars) + " USD are wasted";
  move.told.push_back(CheckEvent{"RaceSurplus", std::move(message), /*warning=*/true});
}

}  // namespace

void DropLoser(const CheckSituation& check, const ProvisioningRequest& request, Move& move) {
  BookSurplus(check, request, move);
  const auto end = SurplusEnd(check, request);
  if (end && check.now < *end) return move.WakeIn(*end - check.now);
  DeleteRequest drop{.name = request.meta.name};
  // A grant that comes before the deletion has to be seen.
  const bool keeps = check.Races() && check.input.policy->race->keep_surplus_seconds > 0;
  if (keeps && RaceOf(request) != 0 && MayBeGranted(request)) {
    drop.resource_version = request.meta.resource_version;
  }
  move.Add(std::move(drop));
}

}  // namespace berth::provisioning

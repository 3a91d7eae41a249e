#include "provisioning/ways/selection.h"

#include <algorithm>
#include <string>

#include "api/labels.h"
#include "api/provisioning_labels.h"
#include "provisioning/asked_requests.h"
#include "provisioning/request_names.h"
#include "provisioning/request_state.h"
#include "provisioning/ways/node_leases.h"
#include "provisioning/ways/request_parts.h"
#include "provisioning/ways/surplus.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningRequest;

bool AsksIn(const api::ProvisioningStep& step, const std::string& zone) {
  if (step.zones.empty()) return zone.empty();
  return std::find(step.zones.begin(), step.zones.end(), zone) != step.zones.end();
}

// Whether the request is what the check asks for today.
bool InSync(const CheckSituation& check, const ProvisioningRequest& request) {
  const api::ProvisioningStep* step = check.StepOf(request);
  const bool other = step != nullptr && step != check.plan->current();
  const api::ProvisioningRequestConfig config =
      other ? WithStep(*check.input.config, *step) : check.config();
  if (request.provisioning_class_name != config.provisioning_class_name) return false;
  if (step != nullptr && !AsksIn(*step, ZoneOf(request))) return false;
  const api::StringMap& own = check.workload.meta.annotations;
  for (const auto& [key, value] : config.parameters) {
    // A parameter of the Workload overrides the config's.
    if (own.count(api::kProvisioningParameterPrefix + key) != 0) continue;
    const std::string* have = api::FindValue(request.parameters, key);
    if (have == nullptr || *have != value) return false;
  }
  const Part& groups = check.first.empty() ? GroupsOf(check, request) : check.first;
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

// Whether the request belongs to a failure that is counted already: it existed when the check was
// reset, and is not deleted yet.
bool IsOld(const CheckSituation& check, const ProvisioningRequest& request, std::int32_t attempt) {
  if (check.plan && attempt <= check.memory.counted_attempt) return true;
  if (check.failures() == 0) return false;
  if (attempt <= check.failures()) return true;
  const RequestState state = StateOf(request);
  const bool failed = state == RequestState::kFailed || state == RequestState::kBookingExpired;
  return failed && request.meta.creation_timestamp < check.before.last_transition_time;
}

std::vector<Runner> Candidates(const CheckSituation& check) {
  std::vector<Runner> candidates;
  // On leased nodes each request is left from an earlier reservation.
  if (check.groups.empty() || RunsOnLease(check)) return candidates;
  const bool settled = check.before.state != api::CheckState::kPending;
  for (const ProvisioningRequest& request : check.situation.requests) {
    const auto attempt = check.AttemptOf(request);
    if (!attempt || *attempt <= 0 || request.meta.deletion_timestamp) continue;
    if (!settled && (!InSync(check, request) || IsOld(check, request, *attempt))) continue;
    const api::ProvisioningStep* step = check.StepOf(request);
    const auto price = step == nullptr ? std::nullopt : PriceOf(*step, check.situation.flavors);
    candidates.push_back(
        {&request, *attempt, price ? std::optional(price->NanoValue()) : std::nullopt});
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Runner& a, const Runner& b) { return a.attempt < b.attempt; });
  return candidates;
}

}  // namespace

std::vector<Runner> SelectRunners(const CheckSituation& check) {
  std::vector<Runner> candidates = Candidates(check);
  if (candidates.empty()) return candidates;
  auto divided = RunnersOfDivided(check, candidates);
  if (!divided.empty()) return divided;
  if (auto parts = RunnersOfParts(check, candidates)) return *std::move(parts);
  const Runner newest = candidates.back();
  const std::int32_t race = RaceOf(*newest.request);
  if (race == 0) return {newest};
  std::erase_if(candidates, [race](const Runner& each) { return RaceOf(*each.request) != race; });
  if (check.is_ready()) {
    const std::string winner = NamedWinner(check.before.pod_set_updates);
    std::erase_if(candidates,
                  [&winner](const Runner& each) { return each.request->meta.name != winner; });
  } else if (!check.Races()) {
    // Where the policy has no race any more one request of a race goes on.
    const Runner* granted = WinnerOf(candidates);
    return {granted == nullptr ? newest : *granted};
  }
  return candidates;
}

void DropObsolete(const CheckSituation& check, Move& move) {
  for (const ProvisioningRequest& request : check.situation.requests) {
    if (!check.AttemptOf(request) || request.meta.deletion_timestamp) continue;
    const bool kept = std::any_of(check.runners.begin(), check.runners.end(),
                                  [&](const Runner& each) { return each.request == &request; });
    if (kept) continue;
    if (check.is_ready()) {
      DropLoser(check, request, move);
    } else {
      move.Add(DeleteRequest{request.meta.name});
    }
  }
}

}  // namespace berth::provisioning

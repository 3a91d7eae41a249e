#include "provisioning/asked_requests.h"

#include <algorithm>

#include "api/labels.h"
#include "api/provisioning_labels.h"
#include "provisioning/race.h"
#include "provisioning/request_names.h"
#include "provisioning/request_state.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningRequest;

}  // namespace

std::string ZoneOf(const ProvisioningRequest& request) {
  const std::string* zone =
      api::FindValue(request.meta.annotations, api::kProvisioningZoneAnnotation);
  return zone == nullptr ? "" : *zone;
}

std::string StepNameOf(const ProvisioningRequest& request) {
  const std::string* name =
      api::FindValue(request.meta.annotations, api::kProvisioningStepAnnotation);
  return name == nullptr ? "" : *name;
}

bool IsDivided(const ProvisioningRequest& request) {
  return request.meta.annotations.contains(api::kDividedAnnotation);
}

std::int64_t PodsOf(const ProvisioningRequest& request) {
  std::int64_t pods = 0;
  for (const auto& each : request.pod_sets) pods = api::AddAmounts(pods, each.count);
  return pods;
}

std::string AskedStep(const Situation& situation, const std::string& check, std::int32_t counted) {
  std::int32_t best = counted;  // the attempt that began the race, else that of the request
  std::int32_t lead = INT32_MAX;
  std::string step;
  for (const ProvisioningRequest& request : situation.requests) {
    const auto attempt = AttemptOf(request.meta.name, situation.workload->meta.name, check);
    const std::string* asked =
        api::FindValue(request.meta.annotations, api::kProvisioningStepAnnotation);
    if (!attempt || *attempt <= counted || asked == nullptr || request.meta.deletion_timestamp ||
        HasLost(request, *situation.workload)) {
      continue;
    }
    const std::int32_t order = std::max(RaceOf(request), RaceOf(request) == 0 ? *attempt : 0);
    if (order < best || (order == best && *attempt > lead)) continue;
    best = order;
    lead = *attempt;
    step = *asked;
  }
  return step;
}

bool HasLiveRequest(const Situation& situation, const std::string& check, std::int32_t counted) {
  const auto& states = situation.workload->status.admission_checks;
  // Nodes outlive the booking of a request in use.
  const bool in_use = std::any_of(states.begin(), states.end(), [&check](const auto& each) {
    return each.name == check && each.state == api::CheckState::kReady;
  });
  return std::any_of(situation.requests.begin(), situation.requests.end(),
                     [&](const ProvisioningRequest& request) {
                       const auto attempt =
                           AttemptOf(request.meta.name, situation.workload->meta.name, check);
                       const RequestState state = StateOf(request);
                       return attempt && *attempt > counted && !request.meta.deletion_timestamp &&
                              (IsOpen(state) || state == RequestState::kProvisioned ||
                               (in_use && state == RequestState::kBookingExpired)) &&
                              !HasLost(request, *situation.workload);
                     });
}

std::int32_t NextAttempt(const Situation& situation, const CheckInput& input,
                         const api::ProvisioningMemory& memory) {
  std::int32_t last = std::max({input.last_attempt, memory.counted_attempt, memory.warned_attempt});
  for (const api::AdmissionCheckState& state : situation.workload->status.admission_checks) {
    if (state.name == input.name) last = std::max(last, state.retry_count.value_or(0));
  }
  for (const ProvisioningRequest& request : situation.requests) {
    const auto attempt = AttemptOf(request.meta.name, situation.workload->meta.name, input.name);
    last = std::max(last, attempt.value_or(0));
  }
  return last + 1;
}

}  // namespace berth::provisioning

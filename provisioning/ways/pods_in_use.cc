#include "provisioning/ways/pods_in_use.h"

#include <chrono>
#include <utility>

#include "provisioning/asked_requests.h"
#include "provisioning/request_state.h"
#include "provisioning/ways/failure.h"

namespace berth::provisioning {
namespace {

using std::chrono::seconds;

constexpr Duration kLateOnLease = seconds(480);

}  // namespace

std::optional<PodTrouble> TroubleWithPods(const CheckSituation& check, const Claim& claim,
                                          const std::function<bool(Duration)>& booking_over,
                                          Move& move) {
  using OnTrouble = api::ProvisioningPolicy::OnTrouble;
  if (!check.plan || !check.situation.pods) return std::nullopt;
  const PodsSeen& seen = *check.situation.pods;
  const api::ProvisioningPolicy& policy = *check.input.policy;
  const WallTime now = check.now;
  const bool leased = claim.request.empty();
  if (leased || policy.on_lost == OnTrouble::kRequeue) {
    Loss loss = LossOf(seen, claim, now);
    if (!loss.message.empty()) return PodTrouble{kLostNodesReason, std::move(loss.message)};
    if (loss.next) move.WakeIn(*loss.next - now);
  }
  // Pods whose part has not come are not late.
  if (check.current() != nullptr && IsDivided(*check.current())) return std::nullopt;
  const WallTime came = CutToSeconds(check.before.last_transition_time);
  const Duration boot = seconds(leased ? std::int64_t{0} : policy.boot_timeout_seconds);
  if (boot > Duration::zero()) {
    Lateness lateness = LatenessOf(seen, claim, came, boot, now);
    if (lateness.late > 0) return PodTrouble{kBootTimeoutReason, std::move(lateness.message)};
    if (lateness.next) move.WakeIn(*lateness.next - now);
  }
  Duration limit = seconds(policy.late_pod_seconds);
  if (limit == Duration::zero() && leased) limit = kLateOnLease;
  if (limit == Duration::zero()) return std::nullopt;
  Lateness lateness = LatenessOf(seen, claim, came, limit, now);
  if (lateness.next) move.WakeIn(*lateness.next - now);
  if (lateness.late == 0) return std::nullopt;
  if (check.memory.told_late != came) {
    move.Remember(check.memory).told_late = came;
    move.told.push_back(
        CheckEvent{"PodsLate", check.input.name + ": " + lateness.message, /*warning=*/true});
    return std::nullopt;
  }
  if (!leased && policy.on_late == OnTrouble::kWait) return std::nullopt;
  if (!booking_over(limit)) return std::nullopt;
  return PodTrouble{kLatePodsReason, std::move(lateness.message)};
}

bool GiveUpForPods(const CheckSituation& check, const api::ProvisioningRequest& request,
                   Move& move) {
  const bool expired = StateOf(request) == RequestState::kBookingExpired;
  const auto trouble = TroubleWithPods(
      check, {.request = request.meta.name}, [expired](Duration /*limit*/) { return expired; },
      move);
  if (!trouble) return false;
  CountFailure(check, request, trouble->reason, trouble->message, check.now, move);
  return true;
}

}  // namespace berth::provisioning

#include "provisioning/ways/expiry.h"

#include <chrono>

#include "api/labels.h"
#include "base/rfc3339.h"
#include "provisioning/ways/failure.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningRequest;

constexpr Duration kWarnBefore = std::chrono::minutes(15);

}  // namespace

std::optional<std::int64_t> RunToAskFor(const CheckSituation& check,
                                        const std::string& provisioning_class) {
  if (!check.plan || !check.input.policy->run_duration) return std::nullopt;
  if (provisioning_class != api::kQueuedProvisioningClass) return std::nullopt;
  const auto expected = ExpectedRun(check.workload, check.RunOfJob());
  if (!expected) return std::nullopt;
  return AskedRun(*check.input.policy->run_duration, *expected);
}

bool GuardExpiry(const CheckSituation& check, const ProvisioningRequest& request, Move& move) {
  const auto end = check.plan ? ExpiryOf(request) : std::nullopt;
  if (!end) return false;
  move.EndsAt(*end);
  const WallTime now = check.now;
  if (now >= *end) return false;
  if (const std::int64_t before = check.input.policy->evict_before_seconds; before > 0) {
    const WallTime leave = *end - std::chrono::seconds(before);
    if (now >= leave) {
      CountFailure(check, request, kCapacityEndsReason,
                   "the cloud takes the capacity back at " + FormatTime(*end), now, move);
      return true;
    }
    move.WakeIn(leave - now);
  }
  const std::int32_t attempt = check.AttemptOf(request).value_or(0);
  if (check.memory.warned_attempt >= attempt) return false;
  if (now < *end - kWarnBefore) {
    move.WakeIn(*end - kWarnBefore - now);
    return false;
  }
  move.Remember(check.memory).warned_attempt = attempt;
  move.told.push_back(CheckEvent{"CapacityExpiring",
                                 check.input.name + ": the cloud takes the capacity back at " +
                                     FormatTime(*end) + "; save state, or ask for a longer run (" +
                                     kMaxRunParameter + ")",
                                 /*warning=*/true});
  return false;
}

}  // namespace berth::provisioning

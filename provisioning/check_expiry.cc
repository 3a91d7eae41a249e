// What a check does about the length of a run: the parameter of the request, and the end of
// capacity in use (run_duration.h).
#include <algorithm>
#include <chrono>

#include "api/labels.h"
#include "base/rfc3339.h"
#include "provisioning/check_decider.h"
#include "provisioning/names.h"
#include "provisioning/run_duration.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningRequest;

constexpr Duration kWarnBefore = std::chrono::minutes(15);

}  // namespace

// A value of the config or of the step has precedence.
void CheckDecider::AskForTheRun(ProvisioningRequest& request) const {
  if (!plan_ || !input_.policy->run_duration) return;
  if (request.provisioning_class_name != api::kQueuedProvisioningClass) return;
  const auto expected = ExpectedRun(workload_, RunOfJob());
  if (!expected) return;
  request.parameters.emplace(kMaxRunParameter,
                             std::to_string(AskedRun(*input_.policy->run_duration, *expected)));
}

// Tells once, a quarter of an hour before, that the cloud takes the capacity back. The memory of
// the warning is written first. Returns whether the capacity is given up before its end.
bool CheckDecider::GuardExpiry(const ProvisioningRequest& request) {
  const auto end = plan_ ? ExpiryOf(request) : std::nullopt;
  if (!end) return false;
  out_.expires_at = std::min(out_.expires_at.value_or(*end), *end);
  if (now_ >= *end) return false;
  if (const std::int64_t before = input_.policy->evict_before_seconds; before > 0) {
    const WallTime leave = *end - std::chrono::seconds(before);
    if (now_ >= leave) {
      Count(request, kCapacityEndsReason,
            "the cloud takes the capacity back at " + FormatTime(*end), now_);
      return true;
    }
    WakeIn(leave - now_);
  }
  const std::int32_t attempt =
      AttemptOf(request.meta.name, workload_.meta.name, input_.name).value_or(0);
  if (memory_.warned_attempt >= attempt) return false;
  if (now_ < *end - kWarnBefore) {
    WakeIn(*end - kWarnBefore - now_);
    return false;
  }
  if (!counted_) counted_ = memory_;
  counted_->warned_attempt = attempt;
  out_.told.push_back(CheckEvent{"CapacityExpiring",
                                 input_.name + ": the cloud takes the capacity back at " +
                                     FormatTime(*end) + "; save state, or ask for a longer run (" +
                                     kMaxRunParameter + ")",
                                 /*warning=*/true});
  return false;
}

}  // namespace berth::provisioning

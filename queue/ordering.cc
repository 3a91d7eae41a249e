#include "queue/ordering.h"

#include <algorithm>
#include <chrono>

#include "api/condition.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "base/strings.h"

namespace berth::queue {
namespace {

// The condition of this type if it is True with `reason`, else null.
const api::Condition* TrueBecause(const api::Workload& workload, std::string_view type,
                                  std::string_view reason) {
  const api::Condition* found = api::FindCondition(workload.status.conditions, type);
  if (found == nullptr || found->status != api::ConditionStatus::kTrue) return nullptr;
  return found->reason == reason ? found : nullptr;
}

}  // namespace

WallTime QueueOrderTime(const api::Workload& workload, const OrderingOptions& options) {
  if (options.pods_ready_requeuing == RequeuingTimestamp::kEviction) {
    const api::Condition* evicted = TrueBecause(workload, api::kEvicted, api::kPodsReadyTimeout);
    if (evicted != nullptr) return evicted->last_transition_time;
  }
  const api::Condition* evicted = TrueBecause(workload, api::kEvicted, api::kAdmissionCheckReason);
  if (evicted != nullptr &&
      !workload.meta.annotations.contains(api::kProvisioningMemoryAnnotation)) {
    return evicted->last_transition_time;
  }
  if (const api::Condition* preempted =
          TrueBecause(workload, api::kPreempted, api::kTimeSliceExpired)) {
    return preempted->last_transition_time;
  }
  if (!options.priority_sorting_within_cohort) {
    if (const api::Condition* preempted =
            TrueBecause(workload, api::kPreempted, api::kInCohortReclaimWhileBorrowing)) {
      return preempted->last_transition_time + std::chrono::milliseconds(1);
    }
  }
  return workload.meta.creation_timestamp;
}

WallTime PlaceOf(const PlaceRules& rules, const PlaceFacts& facts) {
  constexpr std::int64_t kLongest = 10LL * 365 * 24 * 3600;
  const auto run = std::chrono::seconds(std::clamp<std::int64_t>(facts.run_seconds, 0, kLongest));
  WallTime since = facts.queued_at;
  if (facts.deadline != kNoDeadline && rules.least_slack > Duration::zero()) {
    since = std::max(facts.deadline - run, facts.queued_at + rules.least_slack) - kUsualSlack;
  }
  return rules.order == api::QueueOrder::kShortestFirst ? since + kShortestFirstWeight * run
                                                        : since;
}

WallTime KeptPlaceOf(WallTime queued_at) {
  constexpr std::chrono::hours kThousandYears{24 * 365 * 1000};
  return queued_at - kThousandYears;
}

std::int64_t EffectivePriority(const api::Workload& workload, const OrderingOptions& options) {
  std::int64_t priority = workload.spec.priority.value_or(0);
  if (options.priority_boost) {
    const std::string* boost =
        api::FindValue(workload.meta.annotations, api::kPriorityBoostAnnotation);
    const std::optional<std::int64_t> more = boost == nullptr ? std::nullopt : ParseInt64(*boost);
    if (more && *more >= INT32_MIN && *more <= INT32_MAX) priority += *more;
  }
  return priority;
}

}  // namespace berth::queue

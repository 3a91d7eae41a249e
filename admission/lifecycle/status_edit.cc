#include "admission/lifecycle/status_edit.h"

#include <algorithm>
#include <utility>

#include "admission/lifecycle/workload_lifecycle.h"
#include "api/check_state.h"
#include "api/pods_ready.h"
#include "api/reasons.h"

namespace berth::admission {
namespace {

using api::AdmissionCheckState;
using api::CheckState;
using api::Condition;
using api::ConditionStatus;

constexpr char kPreemptedReason[] = "Preempted";
constexpr std::size_t kConditionsAtOnce = 2;

void CountEviction(api::WorkloadStatus& status, const Eviction& eviction) {
  for (api::EvictionCount& count : status.evictions) {
    if (count.reason == eviction.reason && count.underlying_cause == eviction.cause) {
      ++count.count;
      return;
    }
  }
  status.evictions.push_back({eviction.reason, eviction.cause, 1});
}

// After a new reservation, Evicted and Preempted become False and keep the past reason.
void MarkAsPast(api::WorkloadStatus& status, const char* type, std::int64_t generation,
                WallTime now) {
  const Condition* condition = api::FindCondition(status.conditions, type);
  if (condition == nullptr || condition->status != ConditionStatus::kTrue) return;
  const std::string message = "Previously: " + condition->message;
  SetStatusCondition(status, type, ConditionStatus::kFalse, api::kQuotaReserved, message,
                     generation, now);
}

}  // namespace

bool SetStatusCondition(api::WorkloadStatus& status, const char* type, ConditionStatus value,
                        std::string_view reason, std::string_view message, std::int64_t generation,
                        WallTime now) {
  const Condition* known = api::FindCondition(status.conditions, type);
  if (known == nullptr || message.size() > api::kMaxConditionMessageBytes) {
    // A first condition is usually followed by others.
    if (status.conditions.empty()) status.conditions.reserve(kConditionsAtOnce);
    return api::SetCondition(status.conditions, {.type = type,
                                                 .status = value,
                                                 .reason = std::string(reason),
                                                 .message = std::string(message),
                                                 .last_transition_time = CutToSeconds(now),
                                                 .observed_generation = generation});
  }
  // Does the same as SetCondition, without a new allocation.
  Condition& changed = status.conditions[static_cast<std::size_t>(known - &status.conditions[0])];
  changed.observed_generation = generation;
  const bool new_status = changed.status != value;
  if (!new_status && changed.reason == reason && changed.message == message) return false;
  if (new_status) changed.last_transition_time = CutToSeconds(now);
  changed.status = value;
  changed.reason = reason;
  changed.message = message;
  return true;
}

void ResetChecks(api::WorkloadStatus& status, WallTime now) {
  for (AdmissionCheckState& check : status.admission_checks) {
    if (check.state == CheckState::kPending) continue;
    AdmissionCheckState reset{
        .name = check.name,
        .state = CheckState::kPending,
        .last_transition_time = CutToSeconds(now),
        .message = std::string("Reset to Pending after eviction. Previously: ") +
                   api::ToString(check.state)};
    // Counts failures in a row; success or giving up resets the count.
    if (check.state == CheckState::kRetry) reset.retry_count = check.retry_count.value_or(0) + 1;
    check = std::move(reset);
  }
}

bool RemoveStatusCondition(api::WorkloadStatus& status, const char* type) {
  return std::erase_if(status.conditions, [&](const Condition& c) { return c.type == type; }) > 0;
}

void GiveReservationBack(api::WorkloadStatus& status, const char* reason,
                         const std::string& message, std::int64_t generation, WallTime now) {
  ResetChecks(status, now);  // their results were for the released reservation
  status.admission.reset();
  SetUnadmitted(status, reason, message, generation, now);
}

bool DropCheckStates(api::WorkloadStatus& status, const std::vector<std::string>& required) {
  return std::erase_if(status.admission_checks, [&](const AdmissionCheckState& check) {
           return std::find(required.begin(), required.end(), check.name) == required.end();
         }) > 0;
}

bool SyncCheckStates(api::WorkloadStatus& status, const std::vector<std::string>& required,
                     WallTime now) {
  bool changed = DropCheckStates(status, required);
  auto& states = status.admission_checks;
  for (const std::string& name : required) {
    const bool known = std::any_of(states.begin(), states.end(),
                                   [&](const auto& check) { return check.name == name; });
    if (known) continue;
    states.push_back({.name = name, .last_transition_time = CutToSeconds(now)});
    changed = true;
  }
  return changed;
}

bool SyncAdmittedCondition(api::WorkloadStatus& status, std::int64_t generation, WallTime now) {
  if (api::IsTrue(status.conditions, api::kAdmitted)) return false;
  const auto set = [&](ConditionStatus value, const char* reason, const char* message) {
    const Condition* told = api::FindCondition(status.conditions, api::kAdmitted);
    if (told != nullptr && told->status == value && told->reason == reason &&
        told->message == message && told->observed_generation == generation) {
      return false;  // the frequent case
    }
    return SetStatusCondition(status, api::kAdmitted, value, reason, message, generation, now);
  };
  if (!api::IsTrue(status.conditions, api::kQuotaReserved)) {
    return set(ConditionStatus::kFalse, api::kNoReservation, "The workload has no reservation");
  }
  if (!AllChecksReady(status)) {
    return set(ConditionStatus::kFalse, api::kUnsatisfiedAdmissionChecks,
               "The workload has not all checks ready");
  }
  if (HasPendingTopology(status)) {
    return set(ConditionStatus::kFalse, api::kPendingDelayedTopologyRequests,
               "There are pending delayed topology requests");
  }
  return set(ConditionStatus::kTrue, api::kAdmitted, "The workload is admitted");
}

bool AllChecksReady(const api::WorkloadStatus& status) {
  return std::all_of(status.admission_checks.begin(), status.admission_checks.end(),
                     [](const auto& check) { return check.state == CheckState::kReady; });
}

bool HasPendingTopology(const api::WorkloadStatus& status) {
  if (!status.admission) return false;
  const auto& assignments = status.admission->pod_set_assignments;
  return std::any_of(assignments.begin(), assignments.end(), [](const auto& assignment) {
    return assignment.delayed_topology_request == "Pending";
  });
}

std::string EvictedReason(const Eviction& eviction) {
  if (eviction.reason != api::kDeactivated || eviction.cause.empty()) return eviction.reason;
  return eviction.reason + "DueTo" + eviction.cause;
}

void Evict(api::WorkloadStatus& status, const Eviction& eviction, std::int64_t generation,
           WallTime now) {
  SetStatusCondition(status, api::kEvicted, ConditionStatus::kTrue, EvictedReason(eviction),
                     eviction.message, generation, now);
  ResetChecks(status, now);
  CountEviction(status, eviction);
  status.unhealthy_nodes.clear();
}

void Preempt(api::WorkloadStatus& status, const std::string& reason, const std::string& message,
             std::int64_t generation, WallTime now) {
  // Kueue gives its own preemptions no underlying cause.
  const bool is_slice = reason == api::kTimeSliceExpired;
  Evict(status, {kPreemptedReason, message, is_slice ? reason : ""}, generation, now);
  SetStatusCondition(status, api::kPreempted, ConditionStatus::kTrue, reason, message, generation,
                     now);
}

void ReserveQuota(api::WorkloadStatus& status, api::Admission admission,
                  const std::vector<std::string>& required_checks, std::int64_t generation,
                  WallTime now) {
  const std::string message = "Quota reserved in ClusterQueue " + admission.cluster_queue;
  status.admission = std::move(admission);
  status.resource_requests.clear();
  MarkAsPast(status, api::kEvicted, generation, now);
  MarkAsPast(status, api::kPreempted, generation, now);
  SetStatusCondition(status, api::kQuotaReserved, ConditionStatus::kTrue, api::kQuotaReserved,
                     message, generation, now);
  SyncCheckStates(status, required_checks, now);
  SyncAdmittedCondition(status, generation, now);
}

void ForgetAnswer(api::AdmissionCheckState& check, WallTime now) {
  check = {.name = check.name,
           .state = CheckState::kPending,
           .last_transition_time = CutToSeconds(now),
           .retry_count = check.retry_count};
}

void AwaitPods(api::WorkloadStatus& status, const api::ObjectMeta& workload, WallTime now) {
  if (workload.owner_references.empty() || !api::IsTrue(status.conditions, api::kAdmitted) ||
      api::FindCondition(status.conditions, api::kPodsReady) != nullptr) {
    return;
  }
  const Condition waits = api::PodsNotStarted();
  SetStatusCondition(status, api::kPodsReady, waits.status, waits.reason, waits.message,
                     workload.generation, now);
}

Difference SetUnadmitted(api::WorkloadStatus& status, std::string_view reason,
                         std::string_view message, std::int64_t generation, WallTime now) {
  const Condition* before = api::FindCondition(status.conditions, api::kQuotaReserved);
  const bool same_reason =
      before != nullptr && before->status == ConditionStatus::kFalse && before->reason == reason;
  const bool changed = SetStatusCondition(status, api::kQuotaReserved, ConditionStatus::kFalse,
                                          reason, message, generation, now);
  if (!changed) return Difference::kNone;
  SyncAdmittedCondition(status, generation, now);  // in the same write
  return same_reason ? Difference::kMessage : Difference::kReason;
}

std::int64_t WaitSeconds(WallTime since, WallTime now) {
  return std::max<std::int64_t>(0, std::chrono::floor<std::chrono::seconds>(now - since).count());
}

WallTime QueuedSince(const api::Workload& workload) {
  const Condition* requeued = api::FindCondition(workload.status.conditions, api::kRequeued);
  if (requeued != nullptr && requeued->status == ConditionStatus::kTrue) {
    return std::max(requeued->last_transition_time, workload.meta.creation_timestamp);
  }
  return workload.meta.creation_timestamp;
}

}  // namespace berth::admission

#include "admission/lifecycle/workload_lifecycle.h"

#include <algorithm>
#include <utility>

#include "admission/lifecycle/status_edit.h"
#include "api/holds.h"
#include "api/labels.h"
#include "api/provisioning_labels.h"
#include "api/reasons.h"
#include "base/strings.h"

namespace berth::admission {
namespace {

using api::AdmissionCheckState;
using api::CheckState;
using api::Condition;
using api::FindCondition;
using api::IsTrue;
using api::StopPolicy;

constexpr char kIsDeactivated[] = "The workload is deactivated";

// Steps in Kueue's order. A step returns true to end the pass.
class Planner {
 public:
  Planner(const WorkloadSituation& situation, WallTime now)
      : in_(situation), workload_(*situation.workload), now_(now), status_(workload_.status) {}

  WorkloadPlan Run() {
    Steps();
    if (changed_) plan_.status = std::move(status_);
    return std::move(plan_);
  }

 private:
  void Steps() {
    if (workload_.meta.deletion_timestamp) {
      plan_.remove_finalizer = workload_.meta.owner_references.empty() &&
                               api::HasFinalizer(workload_.meta, api::kResourceInUseFinalizer);
      return;
    }
    if (IsTrue(status_.conditions, api::kFinished)) return Finished();
    if (IsOrphan()) return Abandoned();
    if (!workload_.spec.active) return Deactivated();
    if (IsTrue(status_.conditions, api::kDeactivationTarget)) {
      plan_.deactivate = true;
      return;
    }
    if (IsTrue(status_.conditions, api::kQuotaReserved)) return Reserved();
    SyncChecks();
    if (in_.hear_late_answers && (FollowRejections() || FollowLateRetries())) return;
    if (!BackOff()) ComeBack();
    Pending();
  }

  void Set(const char* type, api::ConditionStatus value, std::string_view reason,
           std::string_view message) {
    changed_ |=
        SetStatusCondition(status_, type, value, reason, message, workload_.meta.generation, now_);
  }
  void Say(PlannedEvent::Type type, std::string reason, std::string message) {
    plan_.events.push_back({type, std::move(reason), std::move(message)});
  }
  void LookAgainIn(Duration delay) {
    delay = std::max(delay, Duration(std::chrono::milliseconds(1)));
    if (!plan_.look_again || delay < *plan_.look_again) plan_.look_again = delay;
  }
  void EvictNow(const Eviction& eviction) {
    Evict(status_, eviction, workload_.meta.generation, now_);
    changed_ = true;
    Say(PlannedEvent::Type::kNormal, "EvictedDueTo" + EvictedReason(eviction), eviction.message);
  }
  void Target(const char* cause, const std::string& message) {
    Set(api::kDeactivationTarget, api::ConditionStatus::kTrue, cause, message);
  }

  // Whether the workload belonged to a job that is gone.
  bool IsOrphan() const {
    return workload_.meta.owner_references.empty() &&
           api::FindValue(workload_.meta.labels, api::kJobUidLabel) != nullptr;
  }

  void Finished();
  void Abandoned();
  void Deactivated();
  void Release();
  void Reserved();
  void SyncChecks();
  bool FollowRejections();
  bool FollowRetries();
  bool FollowLateRetries();
  std::string ChecksIn(CheckState state, const char* word) const;
  bool FollowStops();
  void SyncAdmitted();
  bool LimitExecutionTime();
  bool LimitPodsReady();
  bool BackOff();
  void ComeBack();
  void Pending();

  const WorkloadSituation& in_;
  const api::Workload& workload_;
  const WallTime now_;
  api::WorkloadStatus status_;
  bool changed_ = false;
  WorkloadPlan plan_;
};

// No controller would finish the workload, and it would hold its quota for ever.
void Planner::Abandoned() {
  plan_.finish = api::Condition{.type = api::kFinished,
                                .status = api::ConditionStatus::kTrue,
                                .reason = api::kOwnerNotFound,
                                .message = "The workload's owner no longer exists",
                                .last_transition_time = CutToSeconds(now_),
                                .observed_generation = workload_.meta.generation};
}

void Planner::Finished() {
  plan_.remove_finalizer =
      IsOrphan() && api::HasFinalizer(workload_.meta, api::kResourceInUseFinalizer);
  if (!in_.keep_finished) return;
  const Condition* finished = FindCondition(status_.conditions, api::kFinished);
  const Duration left = *in_.keep_finished - (now_ - finished->last_transition_time);
  if (left > Duration::zero()) return LookAgainIn(left);
  plan_.remove = true;
  Say(PlannedEvent::Type::kNormal, "Deleted", "Deleted finished workload due to elapsed retention");
}

// Gives the quota back, as the controller of a job does when the pods of the job have stopped.
void Planner::Release() {
  if (IsTrue(status_.conditions, api::kAdmitted)) {
    const Condition* admitted = FindCondition(status_.conditions, api::kAdmitted);
    std::int32_t& past = status_.accumulated_past_execution_time_seconds;
    past += static_cast<std::int32_t>(std::min<std::int64_t>(
        WaitSeconds(admitted->last_transition_time, now_), INT32_MAX - past));
    Set(api::kAdmitted, api::ConditionStatus::kFalse, api::kNoReservation,
        "The workload has no reservation");
  }
  status_.admission.reset();
}

// A running eviction keeps its reason, unless the deactivation has a cause to report.
void Planner::Deactivated() {
  const Condition* evicted = FindCondition(status_.conditions, api::kEvicted);
  const bool is_evicted = evicted != nullptr && evicted->status == api::ConditionStatus::kTrue;
  const bool has_cause = IsTrue(status_.conditions, api::kDeactivationTarget);
  if (!is_evicted || (has_cause && !evicted->reason.starts_with(api::kDeactivated))) {
    Eviction eviction{api::kDeactivated, kIsDeactivated, ""};
    if (has_cause) {
      const Condition* target = FindCondition(status_.conditions, api::kDeactivationTarget);
      eviction.cause = target->reason;
      eviction.message += " due to " + target->message;
    }
    EvictNow(eviction);
  }
  if (status_.requeue_state) {
    status_.requeue_state.reset();
    changed_ = true;
  }
  changed_ |= RemoveStatusCondition(status_, api::kDeactivationTarget);
  if (IsTrue(status_.conditions, api::kQuotaReserved)) {
    if (!in_.nobody_stops_it) return;
    Release();
  }
  const Condition* last = FindCondition(status_.conditions, api::kEvicted);
  if (last->reason.starts_with(api::kDeactivated)) {
    const Condition cause = *last;
    Set(api::kRequeued, api::ConditionStatus::kFalse, cause.reason, cause.message);
  }
  changed_ |= SetUnadmitted(status_, api::kDeactivated, kIsDeactivated, workload_.meta.generation,
                            now_) != Difference::kNone;
}

// A check may be rejected while the job is being stopped for another reason.
void Planner::Reserved() {
  const bool evicted = IsTrue(status_.conditions, api::kEvicted);
  if (evicted) BackOff();
  if (evicted && !in_.hear_late_answers) return;
  SyncChecks();
  if (FollowRejections() || evicted) return;
  if (FollowRetries()) return;
  // Ready checks come first: an admitted workload keeps running in a queue with stopPolicy Hold.
  SyncAdmitted();
  if (FollowStops() || LimitExecutionTime()) return;
  LimitPodsReady();
}

// Makes the check states those of the required checks. An admitted workload gets no new checks, but
// loses those that its queue does not require any more.
void Planner::SyncChecks() {
  if (!in_.required_checks) return;
  if (IsTrue(status_.conditions, api::kAdmitted)) {
    changed_ |= DropCheckStates(status_, *in_.required_checks);
    return;
  }
  const auto is_among = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<std::string> kept = *in_.required_checks;
  for (api::AdmissionCheckState& check : status_.admission_checks) {
    if (is_among(kept, check.name) || !is_among(in_.queue_checks, check.name)) continue;
    kept.push_back(check.name);
    const bool is_heard = in_.hear_late_answers && check.state != CheckState::kReady;
    if (is_heard || check.state == CheckState::kPending) continue;
    ForgetAnswer(check, now_);
    changed_ = true;
  }
  changed_ |= SyncCheckStates(status_, kept, now_);
}

bool Planner::FollowRejections() {
  const std::string rejected = ChecksIn(CheckState::kRejected, "Rejected");
  if (rejected.empty()) return false;
  Say(PlannedEvent::Type::kWarning, "AdmissionCheckRejected", "Deactivated due to " + rejected);
  Target(api::kAdmissionCheckReason, rejected);
  return true;
}

bool Planner::FollowRetries() {
  const std::string retry = ChecksIn(CheckState::kRetry, "Retry");
  if (retry.empty()) return false;
  std::int32_t delay_seconds = 0;
  for (const AdmissionCheckState& check : status_.admission_checks) {
    if (check.state != CheckState::kRetry) continue;
    delay_seconds = std::max(delay_seconds, check.requeue_after_seconds.value_or(0));
  }
  if (delay_seconds > 0) {
    if (!status_.requeue_state) status_.requeue_state.emplace();
    const WallTime due = CutToSeconds(now_ + std::chrono::seconds(delay_seconds));
    std::optional<WallTime>& requeue_at = status_.requeue_state->requeue_at;
    requeue_at = std::max(due, requeue_at.value_or(due));  // the later instant counts
  }
  EvictNow({api::kAdmissionCheckReason, "Evicted due to " + retry, ""});
  return true;
}

// The reservation of a check in Retry is released already: no pod has to stop, only the check's
// delay applies. Then the workload is requeued as after any other retry.
bool Planner::FollowLateRetries() {
  const std::string retry = ChecksIn(CheckState::kRetry, "Retry");
  if (retry.empty()) return false;
  WallTime due = now_;
  for (const AdmissionCheckState& check : status_.admission_checks) {
    if (check.state != CheckState::kRetry) continue;
    const std::chrono::seconds delay(check.requeue_after_seconds.value_or(0));
    due = std::max(due, check.last_transition_time + delay);
  }
  Set(api::kRequeued, api::ConditionStatus::kFalse, api::kAdmissionCheckReason, retry);
  if (due > now_) {
    LookAgainIn(due - now_);
    return true;
  }
  ResetChecks(status_, now_);
  changed_ = true;
  return true;
}

// AdmissionChecks in Retry state: "a" (its message); "b". Empty if no check has the state.
std::string Planner::ChecksIn(CheckState state, const char* word) const {
  std::vector<std::string> texts;
  for (const AdmissionCheckState& check : status_.admission_checks) {
    if (check.state != state) continue;
    std::string& text = texts.emplace_back('"' + check.name + '"');
    if (!check.message.empty()) text += " (" + check.message + ")";
  }
  if (texts.empty()) return "";
  std::sort(texts.begin(), texts.end());
  return std::string(texts.size() > 1 ? "AdmissionChecks" : "AdmissionCheck") + " in " + word +
         " state: " + Join(texts, "; ");
}

// Hold lets admitted workloads finish; HoldAndDrain stops them too. Reservations that are not
// admitted are released at once, also those of a queue that is being deleted.
bool Planner::FollowStops() {
  const bool admitted = IsTrue(status_.conditions, api::kAdmitted);
  const auto follow = [&](const QueueFacts& queue, const std::string& kind, const char* reason) {
    if (admitted) {
      if (!queue.exists || queue.stop_policy != StopPolicy::kHoldAndDrain) return false;
      EvictNow({reason, "The " + kind + " is stopped", ""});
      return true;
    }
    const bool gone = !queue.exists || queue.deleting;
    if (!gone && queue.stop_policy == StopPolicy::kNone) return false;
    GiveReservationBack(
        status_, gone ? api::kMisconfigured : api::kSuspended,
        kind + " " + queue.name + (gone ? " is terminating or missing" : " is stopped"),
        workload_.meta.generation, now_);
    changed_ = true;
    return true;
  };
  return follow(in_.local_queue, "LocalQueue", api::kLocalQueueStopped) ||
         follow(in_.cluster_queue, "ClusterQueue", api::kClusterQueueStopped);
}

void Planner::SyncAdmitted() {
  if (!SyncAdmittedCondition(status_, workload_.meta.generation, now_)) return;
  changed_ = true;
  if (!IsTrue(status_.conditions, api::kAdmitted)) return;
  if (in_.pods_ready.enabled) AwaitPods(status_, workload_.meta, now_);
  const Condition* reserved = FindCondition(status_.conditions, api::kQuotaReserved);
  const std::int64_t waited = WaitSeconds(reserved->last_transition_time, now_);
  const std::string queue = status_.admission ? status_.admission->cluster_queue : "";
  Say(PlannedEvent::Type::kNormal, "Admitted",
      "Admitted by ClusterQueue " + queue + ", wait time since reservation was " +
          std::to_string(waited) + "s");
}

bool Planner::LimitExecutionTime() {
  const Condition* admitted = FindCondition(status_.conditions, api::kAdmitted);
  if (!workload_.spec.maximum_execution_time_seconds || admitted == nullptr ||
      admitted->status != api::ConditionStatus::kTrue) {
    return false;
  }
  const std::chrono::seconds limit(*workload_.spec.maximum_execution_time_seconds);
  const std::chrono::seconds past(status_.accumulated_past_execution_time_seconds);
  const Duration left = limit - past - (now_ - admitted->last_transition_time);
  if (left > Duration::zero()) {
    LookAgainIn(left);
    return false;
  }
  Target(api::kMaximumExecutionTimeExceeded, "exceeding the maximum execution time");
  Say(PlannedEvent::Type::kWarning, api::kMaximumExecutionTimeExceeded,
      "The maximum execution time (" +
          std::to_string(*workload_.spec.maximum_execution_time_seconds) + "s) exceeded");
  return true;
}

// Pods have `timeout` from admission to become ready, `recovery_timeout` after the loss of one. A
// Workload of standing nodes has no pods.
bool Planner::LimitPodsReady() {
  const PodsReadyOptions& options = in_.pods_ready;
  const Condition* admitted = FindCondition(status_.conditions, api::kAdmitted);
  const Condition* ready = FindCondition(status_.conditions, api::kPodsReady);
  const bool has_pods = !workload_.meta.labels.contains(api::kPrewarmLabel);
  if (!options.enabled || !has_pods || admitted == nullptr ||
      admitted->status != api::ConditionStatus::kTrue ||
      (ready != nullptr && ready->status == api::ConditionStatus::kTrue)) {
    return false;
  }
  const WallTime start = admitted->last_transition_time;
  const bool recovering = ready != nullptr && ready->reason == "WaitForRecovery" &&
                          ready->last_transition_time >= start;
  if (recovering && !options.recovery_timeout) return false;
  const Duration timeout = recovering ? *options.recovery_timeout : options.timeout;
  const Duration left = timeout - (now_ - (recovering ? ready->last_transition_time : start));
  if (left > Duration::zero()) {
    LookAgainIn(left);
    return false;
  }
  const std::int32_t count = (status_.requeue_state ? status_.requeue_state->count : 0) + 1;
  if (options.backoff_limit_count && count > *options.backoff_limit_count) {
    Target(api::kRequeuingLimitExceeded, "exceeding the maximum number of re-queuing retries");
    return true;
  }
  Duration delay = options.backoff_base;
  for (std::int32_t i = 1; i < count && delay < options.backoff_max; ++i) delay *= 2;
  delay = std::min<Duration>(delay, options.backoff_max);
  status_.requeue_state = api::RequeueState{count, CutToSeconds(now_ + delay)};
  EvictNow({api::kPodsReadyTimeout,
            "Exceeded the PodsReady timeout " + workload_.meta.key().ToString(),
            recovering ? "WaitForRecovery" : "WaitForStart"});
  return true;
}

// Requeued=False holds a workload back after an eviction; this step sets it to True when due.
void Planner::ComeBack() {
  const Condition* requeued = FindCondition(status_.conditions, api::kRequeued);
  if (requeued == nullptr || requeued->status != api::ConditionStatus::kFalse) return;
  const std::string reason = requeued->reason;
  const auto release = [&](const char* why, const char* message) {
    Set(api::kRequeued, api::ConditionStatus::kTrue, why, message);
  };
  if (reason.starts_with(api::kDeactivated)) {
    release(api::kReactivated, "The workload was reactivated");
    status_.requeue_state.reset();
    // A user who reactivates a workload after its maximum execution time resets that time.
    if (reason == EvictedReason({api::kDeactivated, "", api::kMaximumExecutionTimeExceeded})) {
      status_.accumulated_past_execution_time_seconds = 0;
    }
    return;
  }
  if (reason == api::kClusterQueueStopped) {
    if (in_.cluster_queue.exists && in_.cluster_queue.stop_policy == StopPolicy::kNone) {
      release(api::kClusterQueueRestarted, "The ClusterQueue was restarted after being stopped");
    }
    return;
  }
  if (reason == api::kLocalQueueStopped) {
    if (in_.local_queue.exists && in_.local_queue.stop_policy == StopPolicy::kNone) {
      release(api::kLocalQueueRestarted, "The LocalQueue was restarted after being stopped");
    }
    return;
  }
  if (reason != api::kAdmissionCheckReason && reason != api::kPodsReadyTimeout) return;
  release(api::kBackoffFinished, "The workload backoff was finished");
}

// requeueAt counts regardless of the condition Requeued, and while pods of an evicted workload end.
// A due requeueAt is cleared, and the scheduler processes the workload again once its quota is
// given back. True: the backoff has not ended.
bool Planner::BackOff() {
  if (!status_.requeue_state || !status_.requeue_state->requeue_at) return false;
  const Duration left = *status_.requeue_state->requeue_at - now_;
  if (left > Duration::zero()) {
    LookAgainIn(left);
    return true;
  }
  status_.requeue_state->requeue_at.reset();
  if (status_.requeue_state->count == 0) status_.requeue_state.reset();
  changed_ = true;
  return false;
}

// Reports why the scheduler cannot try the workload. The scheduler reports its own reasons.
void Planner::Pending() {
  const auto because = [&](const char* reason, const std::string& message) {
    changed_ |= SetUnadmitted(status_, reason, message, workload_.meta.generation, now_) !=
                Difference::kNone;
  };
  const std::string& local = workload_.spec.queue_name;
  const QueueFacts& queue = in_.cluster_queue;
  const Condition* reserved = FindCondition(status_.conditions, api::kQuotaReserved);
  if (reserved != nullptr && reserved->reason == api::kOnHold) return;  // until its owner says so
  const bool was_gated = reserved != nullptr && reserved->reason == api::kAdmissionGated;
  if (api::IsGated(workload_)) {
    const std::string text =
        "dmission is gated by: " + workload_.meta.annotations.at(api::kAdmissionGatedByAnnotation);
    if (!was_gated) Say(PlannedEvent::Type::kNormal, "AdmissionGated", "Workload a" + text);
    return because(api::kAdmissionGated, "A" + text);
  }
  if (was_gated) {
    because(api::kPendingEvaluation, "AdmissionGatedBy cleared, waiting for quota reservation");
  }
  if (api::ClaimsDevices(workload_) && !in_.pod_problem.empty()) {
    return because(api::kMisconfigured, in_.pod_problem);
  }
  if (!in_.local_queue.exists) {
    return because(api::kMisconfigured, "LocalQueue " + local + " doesn't exist");
  }
  if (in_.local_queue.stop_policy != StopPolicy::kNone) {
    return because(api::kSuspended, "LocalQueue " + local + " is inactive");
  }
  if (!queue.exists) {
    return because(api::kMisconfigured, "ClusterQueue " + queue.name + " doesn't exist");
  }
  if (!queue.active) {
    return because(api::kSuspended, "ClusterQueue " + queue.name + " is inactive");
  }
  if (!in_.pod_problem.empty()) because(api::kMisconfigured, in_.pod_problem);
}

}  // namespace

WorkloadPlan PlanWorkload(const WorkloadSituation& situation, WallTime now) {
  return Planner(situation, now).Run();
}

}  // namespace berth::admission

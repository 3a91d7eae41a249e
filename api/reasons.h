// api/reasons.h — condition types and their reasons, event reasons, field managers, once each.
// Source: Kueue apis/kueue/v1beta2/workload_types.go and pkg/workload; spelled as in the API.
#pragma once

namespace berth::api {

// Condition types of a Workload.
inline constexpr char kQuotaReserved[] = "QuotaReserved";
inline constexpr char kAdmitted[] = "Admitted";
inline constexpr char kFinished[] = "Finished";
inline constexpr char kPodsReady[] = "PodsReady";
inline constexpr char kEvicted[] = "Evicted";
inline constexpr char kPreempted[] = "Preempted";
inline constexpr char kRequeued[] = "Requeued";
inline constexpr char kDeactivationTarget[] = "DeactivationTarget";
// A condition of ClusterQueues, LocalQueues and AdmissionChecks.
inline constexpr char kActive[] = "Active";

// Reasons of QuotaReserved=False.
inline constexpr char kNoMatchingFlavor[] = "NoMatchingFlavor";
inline constexpr char kWaitingForQuota[] = "WaitingForQuota";
inline constexpr char kExceedsMaxQuota[] = "ExceedsMaxQuota";
inline constexpr char kTopologyPlacementFailed[] = "TopologyPlacementFailed";
inline constexpr char kWaitingForPreemptedWorkloads[] = "WaitingForPreemptedWorkloads";
inline constexpr char kMisconfigured[] = "Misconfigured";
inline constexpr char kSuspended[] = "Suspended";
inline constexpr char kPendingEvaluation[] = "PendingEvaluation";
inline constexpr char kWaitingForPodsReady[] = "WaitingForPodsReady";
inline constexpr char kAdmissionGated[] = "AdmissionGated";
inline constexpr char kOnHold[] = "OnHold";
inline constexpr char kDeactivated[] = "Deactivated";

// Reasons of the other conditions.
inline constexpr char kNoReservation[] = "NoReservation";
inline constexpr char kUnsatisfiedAdmissionChecks[] = "UnsatisfiedAdmissionChecks";
inline constexpr char kPendingDelayedTopologyRequests[] = "PendingDelayedTopologyRequests";
inline constexpr char kSucceeded[] = "Succeeded";
inline constexpr char kFailed[] = "Failed";
inline constexpr char kOutOfSync[] = "OutOfSync";
inline constexpr char kFailedToStart[] = "FailedToStart";
inline constexpr char kOwnerNotFound[] = "OwnerNotFound";
inline constexpr char kWorkloadSliceReplaced[] = "WorkloadSliceReplaced";
inline constexpr char kPodsReadyTimeout[] = "PodsReadyTimeout";
inline constexpr char kAdmissionCheckReason[] = "AdmissionCheck";
inline constexpr char kClusterQueueStopped[] = "ClusterQueueStopped";
inline constexpr char kLocalQueueStopped[] = "LocalQueueStopped";
inline constexpr char kNodeFailures[] = "NodeFailures";
inline constexpr char kInClusterQueue[] = "InClusterQueue";
inline constexpr char kInCohortReclamation[] = "InCohortReclamation";
inline constexpr char kInCohortFairSharing[] = "InCohortFairSharing";
inline constexpr char kInCohortReclaimWhileBorrowing[] = "InCohortReclaimWhileBorrowing";
inline constexpr char kTimeSliceExpired[] = "TimeSliceExpired";
inline constexpr char kReactivated[] = "Reactivated";
inline constexpr char kBackoffFinished[] = "BackoffFinished";
inline constexpr char kClusterQueueRestarted[] = "ClusterQueueRestarted";
inline constexpr char kLocalQueueRestarted[] = "LocalQueueRestarted";
inline constexpr char kRequeuingLimitExceeded[] = "RequeuingLimitExceeded";
inline constexpr char kMaximumExecutionTimeExceeded[] = "MaximumExecutionTimeExceeded";

// Field managers of server-side apply.
inline constexpr char kAdmissionManager[] = "kueue-admission";
inline constexpr char kJobControllerManagerPrefix[] = "kueue-job-controller-";
inline constexpr char kReclaimablePodsManager[] = "kueue-reclaimable-pods";

}  // namespace berth::api

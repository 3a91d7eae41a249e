// api/pod_groups.h — the labels, annotations and condition of queued pods and of their groups,
// beside those of labels.h. Source: Kueue pkg/controller/jobs/pod/constants.
#pragma once

namespace berth::api {

inline constexpr char kPodGroupTotalCountAnnotation[] = "kueue.x-k8s.io/pod-group-total-count";
inline constexpr char kPodGroupFastAdmissionAnnotation[] =
    "kueue.x-k8s.io/pod-group-fast-admission";
inline constexpr char kPodGroupServingAnnotation[] = "kueue.x-k8s.io/pod-group-serving";
inline constexpr char kRetriableInGroupAnnotation[] = "kueue.x-k8s.io/retriable-in-group";
inline constexpr char kRoleHashAnnotation[] = "kueue.x-k8s.io/role-hash";
// The framework whose object created the pod and queues it: "deployment", "statefulset".
inline constexpr char kPodSuspendingParentAnnotation[] = "kueue.x-k8s.io/pod-suspending-parent";
// Names the label whose value becomes kPodGroupPodIndexLabel.
inline constexpr char kPodGroupPodIndexLabelAnnotation[] =
    "kueue.x-k8s.io/pod-group-pod-index-label";
inline constexpr char kPodGroupPodIndexLabel[] = "kueue.x-k8s.io/pod-group-pod-index";

// Annotations of Workloads.
inline constexpr char kIsGroupWorkloadAnnotation[] = "kueue.x-k8s.io/is-group-workload";
// Annotations of a group whose Workload was made for its pods by their parent.
inline constexpr char kJobOwnerGvkAnnotation[] = "kueue.x-k8s.io/job-owner-gvk";
inline constexpr char kJobOwnerNameAnnotation[] = "kueue.x-k8s.io/job-owner-name";
inline constexpr char kComponentWorkloadIndexAnnotation[] =
    "kueue.x-k8s.io/component-workload-index";
// True: pods of the group are absent. The Workload is not admitted meanwhile.
inline constexpr char kWaitingForReplacementPods[] = "WaitingForReplacementPods";

}  // namespace berth::api

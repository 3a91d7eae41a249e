// api/labels.h — every label, annotation, finalizer and gate that Berth reads or writes, once each.
// Source: Kueue apis/kueue/v1beta2, pkg/controller/constants; cluster-autoscaler; GKE.
#pragma once

namespace berth::api {

// Labels (kueue.x-k8s.io).
inline constexpr char kQueueLabel[] = "kueue.x-k8s.io/queue-name";
inline constexpr char kPriorityClassLabel[] = "kueue.x-k8s.io/priority-class";
inline constexpr char kMaxExecTimeLabel[] = "kueue.x-k8s.io/max-exec-time-seconds";
inline constexpr char kPrebuiltWorkloadLabel[] = "kueue.x-k8s.io/prebuilt-workload-name";
inline constexpr char kManagedLabel[] = "kueue.x-k8s.io/managed";
inline constexpr char kPodSetLabel[] = "kueue.x-k8s.io/podset";
inline constexpr char kClusterQueueNameLabel[] = "kueue.x-k8s.io/cluster-queue-name";
inline constexpr char kLocalQueueNameLabel[] = "kueue.x-k8s.io/local-queue-name";
inline constexpr char kJobUidLabel[] = "kueue.x-k8s.io/job-uid";
inline constexpr char kPodGroupNameLabel[] = "kueue.x-k8s.io/pod-group-name";

// Annotations (kueue.x-k8s.io).
inline constexpr char kAdmissionGatedByAnnotation[] = "kueue.x-k8s.io/admission-gated-by";
inline constexpr char kElasticJobAnnotation[] = "kueue.x-k8s.io/elastic-job";
inline constexpr char kMinParallelismAnnotation[] = "kueue.x-k8s.io/job-min-parallelism";
inline constexpr char kCompletionsEqualParallelismAnnotation[] =
    "kueue.x-k8s.io/job-completions-equal-parallelism";
inline constexpr char kStoppingAnnotation[] = "kueue.x-k8s.io/stopping";
inline constexpr char kRayClusterGenerationAnnotation[] = "kueue.x-k8s.io/raycluster-generation";
inline constexpr char kWorkloadAnnotation[] = "kueue.x-k8s.io/workload";
inline constexpr char kSliceNameAnnotation[] = "kueue.x-k8s.io/workload-slice-name";
inline constexpr char kSliceReplacementForAnnotation[] =
    "kueue.x-k8s.io/workload-slice-replacement-for";
inline constexpr char kPriorityBoostAnnotation[] = "kueue.x-k8s.io/priority-boost";
inline constexpr char kRequiredTopologyAnnotation[] = "kueue.x-k8s.io/podset-required-topology";
inline constexpr char kPreferredTopologyAnnotation[] = "kueue.x-k8s.io/podset-preferred-topology";
inline constexpr char kUnconstrainedTopologyAnnotation[] =
    "kueue.x-k8s.io/podset-unconstrained-topology";
inline constexpr char kSliceRequiredTopologyAnnotation[] =
    "kueue.x-k8s.io/podset-slice-required-topology";
inline constexpr char kSliceSizeAnnotation[] = "kueue.x-k8s.io/podset-slice-size";
inline constexpr char kSliceConstraintsAnnotation[] =
    "kueue.x-k8s.io/podset-slice-required-topology-constraints";
inline constexpr char kPodSetGroupNameAnnotation[] = "kueue.x-k8s.io/podset-group-name";
inline constexpr char kPodIndexOffsetAnnotation[] = "kueue.x-k8s.io/pod-index-offset";
inline constexpr char kProvisioningParameterPrefix[] = "provreq.kueue.x-k8s.io/";

// Finalizers and scheduling gates.
inline constexpr char kResourceInUseFinalizer[] = "kueue.x-k8s.io/resource-in-use";
inline constexpr char kManagedFinalizer[] = "kueue.x-k8s.io/managed";
inline constexpr char kAdmissionGate[] = "kueue.x-k8s.io/admission";
inline constexpr char kTopologyGate[] = "kueue.x-k8s.io/topology";
inline constexpr char kElasticJobGate[] = "kueue.x-k8s.io/elastic-job";

// Annotations and labels of capacity.
inline constexpr char kConsumeProvisioningRequestAnnotation[] =
    "autoscaling.x-k8s.io/consume-provisioning-request";
inline constexpr char kProvisioningClassAnnotation[] =
    "autoscaling.x-k8s.io/provisioning-class-name";
inline constexpr char kSafeToEvictAnnotation[] = "cluster-autoscaler.kubernetes.io/safe-to-evict";
inline constexpr char kDoNotDisruptAnnotation[] = "karpenter.sh/do-not-disrupt";
inline constexpr char kGkeQueuedTaint[] = "cloud.google.com/gke-queued";
inline constexpr char kGkeRequestLabel[] = "autoscaling.gke.io/provisioning-request";
inline constexpr char kGkeNodeEndAnnotation[] = "node.gke.io/machine-termination-datetime";
inline constexpr char kGkeNodePoolLabel[] = "cloud.google.com/gke-nodepool";
inline constexpr char kQueuedProvisioningClass[] = "queued-provisioning.gke.io";

// Berth's own additions, all optional.
inline constexpr char kExplanationAnnotation[] = "berth.dev/explanation";
inline constexpr char kPreemptionPlanAnnotation[] = "berth.dev/preemption-plan";
inline constexpr char kProvisioningPolicyAnnotation[] = "berth.dev/provisioning-policy";
inline constexpr char kProvisioningMemoryAnnotation[] = "berth.dev/provisioning";
// On a Workload: when the cloud takes its capacity back, RFC 3339.
inline constexpr char kExpiresAtAnnotation[] = "berth.dev/expires-at";
// On a ConfigMap: it holds the stock memory of a provisioning class.
inline constexpr char kStockLabel[] = "berth.dev/stock";
// On a ConfigMap: it holds the spend memory of a LocalQueue, which the annotation names.
inline constexpr char kSpendLabel[] = "berth.dev/spend";
inline constexpr char kSpendOfAnnotation[] = "berth.dev/spend-of";
// On a ProvisioningRequest: the step of the policy that asks.
inline constexpr char kProvisioningStepAnnotation[] = "berth.dev/provisioning-step";
// On a ProvisioningRequest: the zone in which the step asks.
inline constexpr char kProvisioningZoneAnnotation[] = "berth.dev/provisioning-zone";
// On a ProvisioningRequest: the first attempt of the requests that race for one Workload.
inline constexpr char kRaceAnnotation[] = "berth.dev/race";
// On a Node: its lease (provisioning/lease.h).
inline constexpr char kLeaseLabel[] = "berth.dev/lease";
inline constexpr char kLeaseUntilAnnotation[] = "berth.dev/lease-until";
inline constexpr char kLeaseOfAnnotation[] = "berth.dev/lease-of";
// On a ResourceFlavor: USD for one node and hour, as a quantity.
inline constexpr char kPricePerHourAnnotation[] = "berth.dev/price-per-hour";
// On a Workload: the flavors that its provisioning policies have tried in vain, joined by commas.
inline constexpr char kAvoidedFlavorsAnnotation[] = "berth.dev/avoided-flavors";
// On a Workload: the flavors that its checks of reactive capacity have tried in vain. These checks
// have another writer, hence another annotation.
inline constexpr char kReactiveAvoidedFlavorsAnnotation[] = "berth.dev/reactive-avoided-flavors";

// Labels of Kubernetes.
inline constexpr char kHostnameLabel[] = "kubernetes.io/hostname";
inline constexpr char kZoneLabel[] = "topology.kubernetes.io/zone";
inline constexpr char kJobControllerUidLabel[] = "batch.kubernetes.io/controller-uid";
inline constexpr char kJobNameLabel[] = "batch.kubernetes.io/job-name";
inline constexpr char kCompletionIndexLabel[] = "batch.kubernetes.io/job-completion-index";
inline constexpr char kLegacyControllerUidLabel[] = "controller-uid";
inline constexpr char kLegacyJobNameLabel[] = "job-name";

}  // namespace berth::api

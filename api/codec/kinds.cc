#include "api/codec/kinds.h"

namespace berth::api {
namespace {

constexpr std::string_view kKueue = "kueue.x-k8s.io";
constexpr std::string_view kKueueVersion = "v1beta2";
constexpr bool kCluster = false;

constexpr ResourceKind kAdmissionCheck{kKueue, kKueueVersion, "AdmissionCheck", "admissionchecks",
                                       kCluster};
constexpr ResourceKind kClusterQueue{kKueue, kKueueVersion, "ClusterQueue", "clusterqueues",
                                     kCluster};
constexpr ResourceKind kCohort{kKueue, kKueueVersion, "Cohort", "cohorts", kCluster};
constexpr ResourceKind kJob{"batch", "v1", "Job", "jobs"};
constexpr ResourceKind kLocalQueue{kKueue, kKueueVersion, "LocalQueue", "localqueues"};
constexpr ResourceKind kNamespace{"", "v1", "Namespace", "namespaces", kCluster};
constexpr ResourceKind kNode{"", "v1", "Node", "nodes", kCluster};
constexpr ResourceKind kPod{"", "v1", "Pod", "pods"};
constexpr ResourceKind kPodTemplate{"", "v1", "PodTemplate", "podtemplates"};
constexpr ResourceKind kPriorityClass{"scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses",
                                      kCluster};
constexpr ResourceKind kProvisioningRequest{"autoscaling.x-k8s.io", "v1", "ProvisioningRequest",
                                            "provisioningrequests"};
constexpr ResourceKind kProvisioningRequestConfig{
    kKueue, kKueueVersion, "ProvisioningRequestConfig", "provisioningrequestconfigs", kCluster};
constexpr ResourceKind kResourceFlavor{kKueue, kKueueVersion, "ResourceFlavor", "resourceflavors",
                                       kCluster};
constexpr ResourceKind kTopology{kKueue, kKueueVersion, "Topology", "topologies", kCluster};
constexpr ResourceKind kWorkload{kKueue, kKueueVersion, "Workload", "workloads"};
constexpr ResourceKind kWorkloadPriorityClass{kKueue, kKueueVersion, "WorkloadPriorityClass",
                                              "workloadpriorityclasses", kCluster};

}  // namespace

template <>
const ResourceKind& KindOf<AdmissionCheck>() {
  return kAdmissionCheck;
}
template <>
const ResourceKind& KindOf<ClusterQueue>() {
  return kClusterQueue;
}
template <>
const ResourceKind& KindOf<Cohort>() {
  return kCohort;
}
template <>
const ResourceKind& KindOf<Job>() {
  return kJob;
}
template <>
const ResourceKind& KindOf<LocalQueue>() {
  return kLocalQueue;
}
template <>
const ResourceKind& KindOf<Namespace>() {
  return kNamespace;
}
template <>
const ResourceKind& KindOf<Node>() {
  return kNode;
}
template <>
const ResourceKind& KindOf<Pod>() {
  return kPod;
}
template <>
const ResourceKind& KindOf<PodTemplateObject>() {
  return kPodTemplate;
}
template <>
const ResourceKind& KindOf<PriorityClass>() {
  return kPriorityClass;
}
template <>
const ResourceKind& KindOf<ProvisioningRequest>() {
  return kProvisioningRequest;
}
template <>
const ResourceKind& KindOf<ProvisioningRequestConfig>() {
  return kProvisioningRequestConfig;
}
template <>
const ResourceKind& KindOf<ResourceFlavor>() {
  return kResourceFlavor;
}
template <>
const ResourceKind& KindOf<Topology>() {
  return kTopology;
}
template <>
const ResourceKind& KindOf<Workload>() {
  return kWorkload;
}
template <>
const ResourceKind& KindOf<WorkloadPriorityClass>() {
  return kWorkloadPriorityClass;
}

}  // namespace berth::api

#include "local/apiserver/registry/builtin_resources.h"

#include "base/assert.h"
#include "base/strings.h"
#include "local/apiserver/auth/role_index.h"
#include "local/apiserver/registry/status_errors.h"

namespace berth::local {
namespace {

constexpr const char* kStandard = "cdDglpuw";

// One row of the table. Lists are separated by blanks; a subresource is name:verbs[:group/v/Kind].
// flags: N namespaced, S status subresource, G generation, R resourceVersion required on PUT,
// C created by PUT.
struct Row {
  const char* group;
  const char* version;
  const char* resource;
  const char* singular;
  const char* kind;
  const char* flags;
  const char* verbs;
  const char* short_names = "";
  const char* categories = "";
  const char* subresources = "";
  const char* field_labels = "";
};

constexpr const char* kEventLabels =
    "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid "
    "involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason "
    "reportingComponent source type";

constexpr const char* kAdmission = "admissionregistration.k8s.io";
constexpr const char* kFlowControl = "flowcontrol.apiserver.k8s.io";
constexpr const char* kStorage = "storage.k8s.io";

constexpr Row kRows[] = {
    {"", "v1", "bindings", "binding", "Binding", "N", "c"},
    {"", "v1", "configmaps", "configmap", "ConfigMap", "N", kStandard, "cm"},
    {"", "v1", "endpoints", "endpoints", "Endpoints", "NC", kStandard, "ep"},
    {"", "v1", "events", "event", "Event", "NC", kStandard, "ev", "", "", kEventLabels},
    {"", "v1", "limitranges", "limitrange", "LimitRange", "NC", kStandard, "limits"},
    {"", "v1", "namespaces", "namespace", "Namespace", "S", "cdglpuw", "ns", "",
     "finalize:u status:gpu", "status.phase"},
    {"", "v1", "nodes", "node", "Node", "S", kStandard, "no", "", "status:gpu",
     "spec.unschedulable"},
    {"", "v1", "persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim", "NS",
     kStandard, "pvc", "", "status:gpu"},
    {"", "v1", "persistentvolumes", "persistentvolume", "PersistentVolume", "S", kStandard, "pv",
     "", "status:gpu"},
    {"", "v1", "pods", "pod", "Pod", "NSG", kStandard, "po", "all",
     "attach:cg:/v1/PodAttachOptions binding:c:/v1/Binding eviction:c:policy/v1/Eviction "
     "exec:cg:/v1/PodExecOptions log:g portforward:cg:/v1/PodPortForwardOptions "
     "proxy:cdgpu:/v1/PodProxyOptions status:gpu",
     "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork "
     "status.phase status.podIP status.nominatedNodeName"},
    {"", "v1", "podtemplates", "podtemplate", "PodTemplate", "N", kStandard},
    {"", "v1", "replicationcontrollers", "replicationcontroller", "ReplicationController", "NSG",
     kStandard, "rc", "all", "scale:gpu:autoscaling/v1/Scale status:gpu", "status.replicas"},
    {"", "v1", "resourcequotas", "resourcequota", "ResourceQuota", "NS", kStandard, "quota", "",
     "status:gpu"},
    {"", "v1", "secrets", "secret", "Secret", "N", kStandard, "", "", "", "type"},
    {"", "v1", "serviceaccounts", "serviceaccount", "ServiceAccount", "N", kStandard, "sa", "",
     "token:c:authentication.k8s.io/v1/TokenRequest"},
    {"", "v1", "services", "service", "Service", "NSC", kStandard, "svc", "all",
     "proxy:cdgpu:/v1/ServiceProxyOptions status:gpu", "spec.clusterIP spec.type"},
    {"apps", "v1", "controllerrevisions", "controllerrevision", "ControllerRevision", "N",
     kStandard},
    {"apps", "v1", "daemonsets", "daemonset", "DaemonSet", "NSG", kStandard, "ds", "all",
     "status:gpu"},
    {"apps", "v1", "deployments", "deployment", "Deployment", "NSG", kStandard, "deploy", "all",
     "scale:gpu:autoscaling/v1/Scale status:gpu"},
    {"apps", "v1", "replicasets", "replicaset", "ReplicaSet", "NSG", kStandard, "rs", "all",
     "scale:gpu:autoscaling/v1/Scale status:gpu", "status.replicas"},
    {"apps", "v1", "statefulsets", "statefulset", "StatefulSet", "NSG", kStandard, "sts", "all",
     "scale:gpu:autoscaling/v1/Scale status:gpu"},
    {"autoscaling", "v2", "horizontalpodautoscalers", "horizontalpodautoscaler",
     "HorizontalPodAutoscaler", "NS", kStandard, "hpa", "all", "status:gpu"},
    {"autoscaling", "v1", "horizontalpodautoscalers", "horizontalpodautoscaler",
     "HorizontalPodAutoscaler", "NS", kStandard, "hpa", "all", "status:gpu"},
    {"batch", "v1", "cronjobs", "cronjob", "CronJob", "NSG", kStandard, "cj", "all", "status:gpu"},
    {"batch", "v1", "jobs", "job", "Job", "NSG", kStandard, "", "all", "status:gpu",
     "status.successful"},
    {"coordination.k8s.io", "v1", "leases", "lease", "Lease", "NRC", kStandard},
    {"discovery.k8s.io", "v1", "endpointslices", "endpointslice", "EndpointSlice", "NG", kStandard},
    // The objects of the core group's events, with other names for some fields.
    {"events.k8s.io", "v1", "events", "event", "Event", "NC", kStandard, "ev", "", "",
     "regarding.kind regarding.namespace regarding.name regarding.uid regarding.apiVersion "
     "regarding.resourceVersion regarding.fieldPath reason reportingController type"},
    {kFlowControl, "v1", "flowschemas", "flowschema", "FlowSchema", "SG", kStandard, "", "",
     "status:gpu"},
    {kFlowControl, "v1", "prioritylevelconfigurations", "prioritylevelconfiguration",
     "PriorityLevelConfiguration", "SG", kStandard, "", "", "status:gpu"},
    {"networking.k8s.io", "v1", "ingressclasses", "ingressclass", "IngressClass", "G", kStandard},
    {"networking.k8s.io", "v1", "ingresses", "ingress", "Ingress", "NSG", kStandard, "ing", "",
     "status:gpu"},
    {"networking.k8s.io", "v1", "networkpolicies", "networkpolicy", "NetworkPolicy", "NG",
     kStandard, "netpol"},
    {"node.k8s.io", "v1", "runtimeclasses", "runtimeclass", "RuntimeClass", "CR", kStandard},
    {"policy", "v1", "poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget", "NSGR",
     kStandard, "pdb", "", "status:gpu"},
    {"scheduling.k8s.io", "v1", "priorityclasses", "priorityclass", "PriorityClass", "G", kStandard,
     "pc"},
    {kStorage, "v1", "csidrivers", "csidriver", "CSIDriver", "R", kStandard},
    {kStorage, "v1", "csinodes", "csinode", "CSINode", "R", kStandard},
    {kStorage, "v1", "csistoragecapacities", "csistoragecapacity", "CSIStorageCapacity", "NR",
     kStandard},
    {kStorage, "v1", "storageclasses", "storageclass", "StorageClass", "", kStandard, "sc"},
    {kStorage, "v1", "volumeattachments", "volumeattachment", "VolumeAttachment", "SR", kStandard,
     "", "", "status:gpu"},
    {kStorage, "v1", "volumeattributesclasses", "volumeattributesclass", "VolumeAttributesClass",
     "", kStandard, "vac"},
    {kRbacGroup, "v1", "clusterrolebindings", "clusterrolebinding", "ClusterRoleBinding", "C",
     kStandard},
    {kRbacGroup, "v1", "clusterroles", "clusterrole", "ClusterRole", "C", kStandard},
    {kRbacGroup, "v1", "rolebindings", "rolebinding", "RoleBinding", "NC", kStandard},
    {kRbacGroup, "v1", "roles", "role", "Role", "NC", kStandard},
    {kAdmission, "v1", "mutatingadmissionpolicies", "mutatingadmissionpolicy",
     "MutatingAdmissionPolicy", "GR", kStandard, "", "api-extensions"},
    {kAdmission, "v1", "mutatingadmissionpolicybindings", "mutatingadmissionpolicybinding",
     "MutatingAdmissionPolicyBinding", "GR", kStandard, "", "api-extensions"},
    {kAdmission, "v1", "mutatingwebhookconfigurations", "mutatingwebhookconfiguration",
     "MutatingWebhookConfiguration", "GR", kStandard, "", "api-extensions"},
    {kAdmission, "v1", "validatingadmissionpolicies", "validatingadmissionpolicy",
     "ValidatingAdmissionPolicy", "SGR", kStandard, "", "api-extensions", "status:gpu"},
    {kAdmission, "v1", "validatingadmissionpolicybindings", "validatingadmissionpolicybinding",
     "ValidatingAdmissionPolicyBinding", "GR", kStandard, "", "api-extensions"},
    {kAdmission, "v1", "validatingwebhookconfigurations", "validatingwebhookconfiguration",
     "ValidatingWebhookConfiguration", "GR", kStandard, "", "api-extensions"},
    {"apiregistration.k8s.io", "v1", "apiservices", "apiservice", "APIService", "SR", kStandard, "",
     "api-extensions", "status:gpu"},
    {"certificates.k8s.io", "v1", "certificatesigningrequests", "certificatesigningrequest",
     "CertificateSigningRequest", "S", kStandard, "csr", "", "approval:gpu status:gpu",
     "spec.signerName"},
    {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "customresourcedefinition",
     "CustomResourceDefinition", "SG", kStandard, "crd crds", "api-extensions", "status:gpu"},
    {"authentication.k8s.io", "v1", "selfsubjectreviews", "selfsubjectreview", "SelfSubjectReview",
     "", "c"},
    {"authentication.k8s.io", "v1", "tokenreviews", "tokenreview", "TokenReview", "", "c"},
    {"authorization.k8s.io", "v1", "localsubjectaccessreviews", "localsubjectaccessreview",
     "LocalSubjectAccessReview", "N", "c"},
    {"authorization.k8s.io", "v1", "selfsubjectaccessreviews", "selfsubjectaccessreview",
     "SelfSubjectAccessReview", "", "c"},
    {"authorization.k8s.io", "v1", "selfsubjectrulesreviews", "selfsubjectrulesreview",
     "SelfSubjectRulesReview", "", "c"},
    {"authorization.k8s.io", "v1", "subjectaccessreviews", "subjectaccessreview",
     "SubjectAccessReview", "", "c"},
};

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  if (text.empty()) return words;
  for (const std::string_view word : Split(text, ' ')) words.emplace_back(word);
  return words;
}

SubresourceInfo ParseSubresource(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, ':');
  SubresourceInfo subresource;
  subresource.name = parts[0];
  subresource.verbs = parts[1];
  if (parts.size() > 2) {
    const std::vector<std::string_view> kind = Split(parts[2], '/');
    subresource.group = kind[0];
    subresource.version = kind[1];
    subresource.kind = kind[2];
  }
  return subresource;
}

ResourcePtr MakeResource(const Row& row, const TypeTable& types) {
  const std::string_view flags = row.flags;
  const auto has = [&](char flag) { return flags.find(flag) != std::string_view::npos; };
  auto info = std::make_shared<ResourceInfo>();
  info->id = {row.group, row.version, row.resource};
  info->kind = row.kind;
  info->list_kind = std::string(row.kind) + "List";
  info->singular = row.singular;
  info->namespaced = has('N');
  info->verbs = row.verbs;
  info->short_names = Words(row.short_names);
  info->categories = Words(row.categories);
  for (const std::string& word : Words(row.subresources)) {
    info->subresources.push_back(ParseSubresource(word));
  }
  info->storage = info->kind == "Event" ? "events" : QualifiedResource(info->id);
  info->field_labels = Words(row.field_labels);
  info->has_status = has('S');
  info->tracks_generation = has('G');
  info->unconditional_update = !has('R');
  info->create_on_update = has('C');
  info->type = types.Find(row.group, row.version, row.kind);
  BERTH_ASSERT(info->type != nullptr);
  return info;
}

}  // namespace

std::vector<ResourcePtr> BuiltinResources(const TypeTable& types) {
  std::vector<ResourcePtr> resources;
  for (const Row& row : kRows) resources.push_back(MakeResource(row, types));
  return resources;
}

}  // namespace berth::local

// local/cluster/objects/resource_ids.h — the resources that the local cluster reads and writes.
#pragma once

#include "local/apiserver/api.h"

namespace berth::local::cluster {

inline const ResourceId kPods{"", "v1", "pods"};
inline const ResourceId kNodes{"", "v1", "nodes"};
inline const ResourceId kNamespaces{"", "v1", "namespaces"};
inline const ResourceId kEvents{"", "v1", "events"};
inline const ResourceId kConfigMaps{"", "v1", "configmaps"};
inline const ResourceId kSecrets{"", "v1", "secrets"};
inline const ResourceId kServiceAccounts{"", "v1", "serviceaccounts"};
inline const ResourceId kPodTemplates{"", "v1", "podtemplates"};
inline const ResourceId kServices{"", "v1", "services"};
inline const ResourceId kEndpoints{"", "v1", "endpoints"};
inline const ResourceId kEndpointSlices{"discovery.k8s.io", "v1", "endpointslices"};
inline const ResourceId kDeployments{"apps", "v1", "deployments"};
inline const ResourceId kReplicationControllers{"", "v1", "replicationcontrollers"};
inline const ResourceId kReplicaSets{"apps", "v1", "replicasets"};
inline const ResourceId kStatefulSets{"apps", "v1", "statefulsets"};
inline const ResourceId kDaemonSets{"apps", "v1", "daemonsets"};
inline const ResourceId kControllerRevisions{"apps", "v1", "controllerrevisions"};
inline const ResourceId kPersistentVolumeClaims{"", "v1", "persistentvolumeclaims"};
inline const ResourceId kPersistentVolumes{"", "v1", "persistentvolumes"};
inline const ResourceId kStorageClasses{"storage.k8s.io", "v1", "storageclasses"};
inline const ResourceId kResourceQuotas{"", "v1", "resourcequotas"};
inline const ResourceId kDisruptionBudgets{"policy", "v1", "poddisruptionbudgets"};
inline const ResourceId kCronJobs{"batch", "v1", "cronjobs"};
inline const ResourceId kJobs{"batch", "v1", "jobs"};
inline const ResourceId kProvisioningRequests{"autoscaling.x-k8s.io", "v1", "provisioningrequests"};
inline const ResourceId kNodePools{"cloud.berth.dev", "v1alpha1", "nodepools"};

// The cache's index of pods that have not ended, all under the value "yes".
inline constexpr char kUnfinishedIndex[] = "unfinished";

}  // namespace berth::local::cluster

// local/apiserver/registry/strategies/strategies.h — the strategies of kinds with own rules.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "local/apiserver/registry/strategy.h"

namespace berth::local {

std::unique_ptr<const Strategy> MakeJobStrategy();                    // job.cc
std::unique_ptr<const Strategy> MakeDeploymentStrategy();             // replicas.cc
std::unique_ptr<const Strategy> MakeReplicaSetStrategy();             // replicas.cc
std::unique_ptr<const Strategy> MakeReplicationControllerStrategy();  // replicas.cc
std::unique_ptr<const Strategy> MakeStatefulSetStrategy();            // stateful_set.cc
std::unique_ptr<const Strategy> MakeControllerRevisionStrategy();     // stateful_set.cc
std::unique_ptr<const Strategy> MakeClaimStrategy();                  // volumes.cc
std::unique_ptr<const Strategy> MakeVolumeStrategy();                 // volumes.cc
std::unique_ptr<const Strategy> MakeDaemonSetStrategy();              // daemon_set.cc
std::unique_ptr<const Strategy> MakeCronJobStrategy();                // cron_job.cc
std::unique_ptr<const Strategy> MakeDisruptionBudgetStrategy();       // policies.cc
std::unique_ptr<const Strategy> MakeResourceQuotaStrategy();          // policies.cc
std::unique_ptr<const Strategy> MakeServiceStrategy();                // service.cc
std::unique_ptr<const Strategy> MakePodStrategy();                    // pod.cc
std::unique_ptr<const Strategy> MakeNamespaceStrategy();  // small_kinds.cc, like all below
std::unique_ptr<const Strategy> MakeNodeStrategy();
std::unique_ptr<const Strategy> MakeConfigMapStrategy();
std::unique_ptr<const Strategy> MakeSecretStrategy();
std::unique_ptr<const Strategy> MakePriorityClassStrategy();
std::unique_ptr<const Strategy> MakeCrdStrategy();
std::unique_ptr<const Strategy> MakeRuntimeClassStrategy();
std::unique_ptr<const Strategy> MakeWebhookStrategy();          // webhook_configuration.cc
std::unique_ptr<const Strategy> MakeAdmissionPolicyStrategy();  // admission_policy.cc
std::unique_ptr<const Strategy> MakeAdmissionPolicyBindingStrategy();
std::unique_ptr<const Strategy> MakeMutatingPolicyStrategy();
std::unique_ptr<const Strategy> MakeMutatingPolicyBindingStrategy();

std::unique_ptr<const Strategy> MakeApiServiceStrategy();          // api_service.cc
std::unique_ptr<const Strategy> MakeCertificateRequestStrategy();  // certificate_request.cc

std::unique_ptr<const Strategy> MakeAutoscalerStrategy();  // autoscaler.cc

std::unique_ptr<const Strategy> MakeIngressStrategy();  // networking.cc, like the next two
std::unique_ptr<const Strategy> MakeIngressClassStrategy();
std::unique_ptr<const Strategy> MakeNetworkPolicyStrategy();

std::unique_ptr<const Strategy> MakeStorageClassStrategy();  // storage.cc, like the next five
std::unique_ptr<const Strategy> MakeVolumeAttributesClassStrategy();
std::unique_ptr<const Strategy> MakeCsiDriverStrategy();
std::unique_ptr<const Strategy> MakeCsiNodeStrategy();
std::unique_ptr<const Strategy> MakeCsiCapacityStrategy();
std::unique_ptr<const Strategy> MakeVolumeAttachmentStrategy();

std::unique_ptr<const Strategy> MakeFlowSchemaStrategy();  // flow_control.cc, like the next
std::unique_ptr<const Strategy> MakePriorityLevelStrategy();

std::unique_ptr<const Strategy> MakeRoleStrategy();  // rbac.cc, like the next
std::unique_ptr<const Strategy> MakeRoleBindingStrategy();

// The strategies of all kinds, by storage name ("jobs.batch").
std::map<std::string, std::unique_ptr<const Strategy>> MakeStrategies();

}  // namespace berth::local

#include "admission/controller/configuration/kueue_gates.h"

#include <algorithm>

namespace berth::admission {
namespace {

// Berth's behaviour, with any value of the gate.
enum class Behaves { kOn, kOff, kEither };  // kEither: the gate concerns Kueue's implementation
// The reaction to the other value.
enum class Otherwise { kWarn, kRefuse };

struct Gate {
  std::string_view name;
  Behaves behaves;
  Otherwise otherwise;
};

constexpr Gate kKueueGates[] = {
    {"AdmissionGatedBy", Behaves::kOn, Otherwise::kRefuse},
    {"AssignQueueLabelsForPods", Behaves::kOn, Otherwise::kWarn},
    {"CleanupProvisioningRequestsOnEviction", Behaves::kOn, Otherwise::kWarn},
    {"ConcurrentAdmission", Behaves::kOff, Otherwise::kRefuse},
    {"DeferRayServiceFinalizationForRedisCleanup", Behaves::kOn, Otherwise::kWarn},
    {"FailureRecoveryPolicy", Behaves::kOff, Otherwise::kRefuse},
    {"FastQuotaReleaseInPodIntegration", Behaves::kOff, Otherwise::kWarn},
    {"FinishOrphanedWorkloads", Behaves::kOn, Otherwise::kWarn},
    {"KueueDRAIntegration", Behaves::kOn, Otherwise::kWarn},
    {"KueueDRAIntegrationConsumableCapacity", Behaves::kOff, Otherwise::kRefuse},
    {"KueueDRAIntegrationExtendedResource", Behaves::kOn, Otherwise::kWarn},
    {"KueueDRAIntegrationPartitionableDevices", Behaves::kOn, Otherwise::kWarn},
    {"KueueDRARejectWorkloadsWhenDRADisabled", Behaves::kOn, Otherwise::kRefuse},
    {"LWSImmutableGroupSize", Behaves::kOn, Otherwise::kWarn},
    {"ManagedJobsNamespaceSelectorAlwaysRespected", Behaves::kOn, Otherwise::kRefuse},
    {"MetricForWorkloadCreationLatency", Behaves::kOn, Otherwise::kWarn},
    {"MetricsForCohorts", Behaves::kOn, Otherwise::kWarn},
    {"MultiKueue", Behaves::kOff, Otherwise::kWarn},
    {"MultiKueueAdaptersForCustomJobs", Behaves::kOff, Otherwise::kWarn},
    {"MultiKueueClusterProfile", Behaves::kOff, Otherwise::kWarn},
    {"MultiKueueIncrementalDispatcherConfig", Behaves::kOff, Otherwise::kWarn},
    {"MultiKueueIncrementalDispatcherRespectConfigOrder", Behaves::kOff, Otherwise::kWarn},
    {"MultiKueueKubeConfigPathValidation", Behaves::kOff, Otherwise::kWarn},
    {"MultiKueueManagerQuotaAutomation", Behaves::kOff, Otherwise::kRefuse},
    {"MultiKueueOrchestratedPreemption", Behaves::kOff, Otherwise::kRefuse},
    {"MultiKueueRemoteSpecSync", Behaves::kOff, Otherwise::kWarn},
    {"PodIntegrationValidateGroupOwner", Behaves::kOn, Otherwise::kWarn},
    {"RejectUpdatesToCQWithInvalidOnFlavors", Behaves::kOff, Otherwise::kWarn},
    {"RemoveFinalizersWithStrictPatch", Behaves::kEither, Otherwise::kWarn},
    {"SchedulerLibraryIntegration", Behaves::kEither, Otherwise::kWarn},
    {"ShortWorkloadNames", Behaves::kOff, Otherwise::kWarn},
    {"SkipAncestorCheckForDeletedWorkloads", Behaves::kEither, Otherwise::kWarn},
    {"SkipReassignmentForPodOwnedWorkloads", Behaves::kOn, Otherwise::kWarn},
    {"SparkApplicationIntegration", Behaves::kEither, Otherwise::kWarn},
    {"TASAssignmentsEncodingByHostnamePrefix", Behaves::kEither, Otherwise::kWarn},
    {"TASCacheNodeMatchResults", Behaves::kEither, Otherwise::kWarn},
    {"TASCacheTopologyTree", Behaves::kEither, Otherwise::kWarn},
    {"TASCachingRemainingResources", Behaves::kEither, Otherwise::kWarn},
    {"TASHandleOverlappingFlavors", Behaves::kOn, Otherwise::kWarn},
    {"TASMultiLayerTopology", Behaves::kOn, Otherwise::kWarn},
    {"TASValidateWorkloadSliceSize", Behaves::kOn, Otherwise::kWarn},
    {"TLSOptions", Behaves::kOn, Otherwise::kRefuse},
    {"UnadmittedWorkloadsExplicitStatus", Behaves::kOff, Otherwise::kWarn},
    {"UnadmittedWorkloadsObservability", Behaves::kOn, Otherwise::kWarn},
    {"ValidateRayAndSparkJobUpdates", Behaves::kOn, Otherwise::kWarn},
    {"VectorizedResourceRequests", Behaves::kEither, Otherwise::kWarn},
    {"WorkloadIdentifierAnnotations", Behaves::kOn, Otherwise::kWarn},
    {"WorkloadRequestUseMergePatch", Behaves::kEither, Otherwise::kWarn},
    {"WorkloadValidateResourcesAreNonNegative", Behaves::kOn, Otherwise::kWarn},
    {"WorkloadValidationForPodSetMetadata", Behaves::kOn, Otherwise::kWarn},
    // Gates that Kueue has graduated: their features are always on.
    {"AdmissionCheckValidationRules", Behaves::kOn, Otherwise::kRefuse},
    {"ConfigurableResourceTransformations", Behaves::kOn, Otherwise::kRefuse},
    {"HierarchicalCohorts", Behaves::kOn, Otherwise::kRefuse},
    {"LendingLimit", Behaves::kOn, Otherwise::kRefuse},
    {"LocalQueueDefaulting", Behaves::kOn, Otherwise::kRefuse},
    {"ManagedJobsNamespaceSelector", Behaves::kOn, Otherwise::kRefuse},
    {"MultiKueueAllowInsecureKubeconfigs", Behaves::kOff, Otherwise::kWarn},
    {"MultiKueueRedoAdmissionOnEvictionInWorker", Behaves::kEither, Otherwise::kWarn},
    {"MultiKueueWaitForWorkloadAdmitted", Behaves::kEither, Otherwise::kWarn},
    {"MultiplePreemptions", Behaves::kOn, Otherwise::kRefuse},
    {"ObjectRetentionPolicies", Behaves::kOn, Otherwise::kRefuse},
    {"PropagateBatchJobLabelsToWorkload", Behaves::kOn, Otherwise::kRefuse},
    {"SchedulerTimestampPreemptionBuffer", Behaves::kOff, Otherwise::kRefuse},
    {"SkipFinalizersForPodsSuspendedByParent", Behaves::kEither, Otherwise::kWarn},
};

struct Need {
  std::string_view gate;
  std::string_view needs;
};

constexpr Need kNeeds[] = {
    {"ElasticJobsViaWorkloadSlicesWithTAS", "ElasticJobsViaWorkloadSlices"},
    {"TASBalancedPlacement", "TopologyAwareScheduling"},
    {"TASFailedNodeReplacement", "TopologyAwareScheduling"},
    {"TASFailedNodeReplacementFailFast", "TASFailedNodeReplacement"},
    {"TASHandleOverlappingFlavors", "TopologyAwareScheduling"},
    {"TASMultiLayerTopology", "TopologyAwareScheduling"},
    {"TASProfileMixed", "TopologyAwareScheduling"},
    {"TASReplaceNodeDueToNotReadyOverFixedTime", "TASFailedNodeReplacement"},
    {"TASReplaceNodeOnNodeTaints", "TopologyAwareScheduling"},
    {"TASReplaceNodeOnPodTermination", "TASFailedNodeReplacement"},
    {"TASRespectNodeAffinityPreferred", "TopologyAwareScheduling"},
    {"UnadmittedWorkloadsExplicitStatus", "UnadmittedWorkloadsObservability"},
};

}  // namespace

std::vector<std::string_view> KueueGateNames() {
  std::vector<std::string_view> names;
  for (const Gate& gate : kKueueGates) names.push_back(gate.name);
  return names;
}

std::string_view NeededGate(std::string_view name) {
  const auto* found = std::find_if(std::begin(kNeeds), std::end(kNeeds),
                                   [&](const Need& need) { return need.gate == name; });
  return found == std::end(kNeeds) ? std::string_view() : found->needs;
}

GateVerdict JudgeGate(std::string_view name, bool enabled) {
  if (name == "AllAlpha" || name == "AllBeta") {
    return {GateVerdict::Kind::kRefuse, "Berth takes gates one by one: name those that are meant"};
  }
  const auto* found = std::find_if(std::begin(kKueueGates), std::end(kKueueGates),
                                   [&](const Gate& gate) { return gate.name == name; });
  if (found == std::end(kKueueGates)) {
    return {GateVerdict::Kind::kUnknown, "Kueue has no feature gate of this name"};
  }
  if (found->behaves == Behaves::kEither) return {};
  const bool on = found->behaves == Behaves::kOn;
  if (on == enabled) return {};
  const std::string why = on ? "it is always on in Berth" : "Berth does not have it";
  if (found->otherwise == Otherwise::kWarn) return {GateVerdict::Kind::kWarn, why};
  return {GateVerdict::Kind::kRefuse,
          why + ", and workloads would be treated otherwise than it says; remove it"};
}

}  // namespace berth::admission

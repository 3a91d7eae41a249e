// Goal: every feature gate of Kueue is known in both positions: read or in agreement with Berth,
// named in a warning, or refused; and docs/reference/configuration.md lists the warnings and
// refusals.
//
// Method: a Configuration with one gate for each row and position. Source of the names: Kueue
// pkg/features/kube_features.go (0.20), and gates of earlier releases that Kueue has made
// permanent.

#include "admission/controller/configuration/kueue_gates.h"

#include <array>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "admission/controller/configuration/configuration.h"

namespace berth::admission {
namespace {

enum class GateFate { kSilent, kWarned, kRefused };

struct GateRow {
  const char* name;
  GateFate on;
  GateFate off;
};

constexpr GateRow kGateRows[] = {
    {"AdmissionCheckValidationRules", GateFate::kSilent, GateFate::kRefused},
    {"AdmissionFairSharing", GateFate::kSilent, GateFate::kSilent},
    {"AdmissionGatedBy", GateFate::kSilent, GateFate::kRefused},
    {"AssignQueueLabelsForPods", GateFate::kSilent, GateFate::kWarned},
    {"CleanupProvisioningRequestsOnEviction", GateFate::kSilent, GateFate::kWarned},
    {"ConcurrentAdmission", GateFate::kRefused, GateFate::kSilent},
    {"ConfigurableResourceTransformations", GateFate::kSilent, GateFate::kRefused},
    {"CustomMetricLabels", GateFate::kSilent, GateFate::kSilent},
    {"DeferRayServiceFinalizationForRedisCleanup", GateFate::kSilent, GateFate::kWarned},
    {"DisableWaitForPodsReady", GateFate::kSilent, GateFate::kSilent},
    {"ElasticJobsViaWorkloadSlices", GateFate::kSilent, GateFate::kSilent},
    {"ElasticJobsViaWorkloadSlicesWithTAS", GateFate::kSilent, GateFate::kSilent},
    {"FailureRecoveryPolicy", GateFate::kRefused, GateFate::kSilent},
    {"FairSharingPreemptWithinNominal", GateFate::kSilent, GateFate::kSilent},
    {"FairSharingPrioritizeNonBorrowing", GateFate::kSilent, GateFate::kSilent},
    {"FastQuotaReleaseInPodIntegration", GateFate::kWarned, GateFate::kSilent},
    {"FinishOrphanedWorkloads", GateFate::kSilent, GateFate::kWarned},
    {"FlavorFungibility", GateFate::kSilent, GateFate::kSilent},
    {"FlavorFungibilityPreserveScanProgress", GateFate::kSilent, GateFate::kSilent},
    {"HierarchicalCohorts", GateFate::kSilent, GateFate::kRefused},
    {"KueueDRAIntegration", GateFate::kSilent, GateFate::kWarned},
    {"KueueDRAIntegrationConsumableCapacity", GateFate::kRefused, GateFate::kSilent},
    {"KueueDRAIntegrationExtendedResource", GateFate::kSilent, GateFate::kWarned},
    {"KueueDRAIntegrationPartitionableDevices", GateFate::kSilent, GateFate::kWarned},
    {"KueueDRARejectWorkloadsWhenDRADisabled", GateFate::kSilent, GateFate::kRefused},
    {"LWSImmutableGroupSize", GateFate::kSilent, GateFate::kWarned},
    {"LendingLimit", GateFate::kSilent, GateFate::kRefused},
    {"LocalQueueDefaulting", GateFate::kSilent, GateFate::kRefused},
    {"LocalQueueMetrics", GateFate::kSilent, GateFate::kSilent},
    {"ManagedJobsNamespaceSelector", GateFate::kSilent, GateFate::kRefused},
    {"ManagedJobsNamespaceSelectorAlwaysRespected", GateFate::kSilent, GateFate::kRefused},
    {"MetricForWorkloadCreationLatency", GateFate::kSilent, GateFate::kWarned},
    {"MetricsForCohorts", GateFate::kSilent, GateFate::kWarned},
    {"MultiKueue", GateFate::kWarned, GateFate::kSilent},
    {"MultiKueueAdaptersForCustomJobs", GateFate::kWarned, GateFate::kSilent},
    {"MultiKueueAllowInsecureKubeconfigs", GateFate::kWarned, GateFate::kSilent},
    {"MultiKueueClusterProfile", GateFate::kWarned, GateFate::kSilent},
    {"MultiKueueIncrementalDispatcherConfig", GateFate::kWarned, GateFate::kSilent},
    {"MultiKueueIncrementalDispatcherRespectConfigOrder", GateFate::kWarned, GateFate::kSilent},
    {"MultiKueueKubeConfigPathValidation", GateFate::kWarned, GateFate::kSilent},
    {"MultiKueueManagerQuotaAutomation", GateFate::kRefused, GateFate::kSilent},
    {"MultiKueueOrchestratedPreemption", GateFate::kRefused, GateFate::kSilent},
    {"MultiKueueRedoAdmissionOnEvictionInWorker", GateFate::kSilent, GateFate::kSilent},
    {"MultiKueueRemoteSpecSync", GateFate::kWarned, GateFate::kSilent},
    {"MultiKueueWaitForWorkloadAdmitted", GateFate::kSilent, GateFate::kSilent},
    {"MultiplePreemptions", GateFate::kSilent, GateFate::kRefused},
    {"ObjectRetentionPolicies", GateFate::kSilent, GateFate::kRefused},
    {"PartialAdmission", GateFate::kSilent, GateFate::kSilent},
    {"PodIntegrationValidateGroupOwner", GateFate::kSilent, GateFate::kWarned},
    {"PrioritizePreemptorWorkloads", GateFate::kSilent, GateFate::kSilent},
    {"PriorityBoost", GateFate::kSilent, GateFate::kSilent},
    {"PrioritySortingWithinCohort", GateFate::kSilent, GateFate::kSilent},
    {"PropagateBatchJobLabelsToWorkload", GateFate::kSilent, GateFate::kRefused},
    {"QuotaCheckStrategy", GateFate::kSilent, GateFate::kSilent},
    {"ReclaimablePods", GateFate::kSilent, GateFate::kSilent},
    {"RecomputeAssignmentUponPreemptionTargetsOverlap", GateFate::kSilent, GateFate::kSilent},
    {"RejectUpdatesToCQWithInvalidOnFlavors", GateFate::kWarned, GateFate::kSilent},
    {"RemoveFinalizersWithStrictPatch", GateFate::kSilent, GateFate::kSilent},
    {"SchedulerLibraryIntegration", GateFate::kSilent, GateFate::kSilent},
    {"SchedulerLongRequeueInterval", GateFate::kSilent, GateFate::kSilent},
    {"SchedulerTimestampPreemptionBuffer", GateFate::kRefused, GateFate::kSilent},
    {"SchedulingEquivalenceHashing", GateFate::kSilent, GateFate::kSilent},
    {"ShortWorkloadNames", GateFate::kWarned, GateFate::kSilent},
    {"SkipAncestorCheckForDeletedWorkloads", GateFate::kSilent, GateFate::kSilent},
    {"SkipFinalizersForPodsSuspendedByParent", GateFate::kSilent, GateFate::kSilent},
    {"SkipReassignmentForPodOwnedWorkloads", GateFate::kSilent, GateFate::kWarned},
    {"SparkApplicationIntegration", GateFate::kSilent, GateFate::kSilent},
    {"TASAssignmentsEncodingByHostnamePrefix", GateFate::kSilent, GateFate::kSilent},
    {"TASBalancedPlacement", GateFate::kSilent, GateFate::kSilent},
    {"TASCacheNodeMatchResults", GateFate::kSilent, GateFate::kSilent},
    {"TASCacheTopologyTree", GateFate::kSilent, GateFate::kSilent},
    {"TASCachingRemainingResources", GateFate::kSilent, GateFate::kSilent},
    {"TASFailedNodeReplacement", GateFate::kSilent, GateFate::kSilent},
    {"TASFailedNodeReplacementFailFast", GateFate::kSilent, GateFate::kSilent},
    {"TASHandleOverlappingFlavors", GateFate::kSilent, GateFate::kWarned},
    {"TASMultiLayerTopology", GateFate::kSilent, GateFate::kWarned},
    {"TASProfileMixed", GateFate::kSilent, GateFate::kSilent},
    {"TASRecomputeAssignmentWithinSchedulingCycle", GateFate::kSilent, GateFate::kSilent},
    {"TASReplaceNodeDueToNotReadyOverFixedTime", GateFate::kSilent, GateFate::kSilent},
    {"TASReplaceNodeOnNodeTaints", GateFate::kSilent, GateFate::kSilent},
    {"TASReplaceNodeOnPodTermination", GateFate::kSilent, GateFate::kSilent},
    {"TASRespectNodeAffinityPreferred", GateFate::kSilent, GateFate::kSilent},
    {"TASValidateWorkloadSliceSize", GateFate::kSilent, GateFate::kWarned},
    {"TLSOptions", GateFate::kSilent, GateFate::kRefused},
    {"TopologyAwareScheduling", GateFate::kSilent, GateFate::kSilent},
    {"UnadmittedWorkloadsExplicitStatus", GateFate::kWarned, GateFate::kSilent},
    {"UnadmittedWorkloadsObservability", GateFate::kSilent, GateFate::kWarned},
    {"ValidateRayAndSparkJobUpdates", GateFate::kSilent, GateFate::kWarned},
    {"VectorizedResourceRequests", GateFate::kSilent, GateFate::kSilent},
    {"VisibilityOnDemand", GateFate::kSilent, GateFate::kSilent},
    {"WorkloadIdentifierAnnotations", GateFate::kSilent, GateFate::kWarned},
    {"WorkloadPriorityClassDefaulting", GateFate::kSilent, GateFate::kSilent},
    {"WorkloadRequestUseMergePatch", GateFate::kSilent, GateFate::kSilent},
    {"WorkloadValidateResourcesAreNonNegative", GateFate::kSilent, GateFate::kWarned},
    {"WorkloadValidationForPodSetMetadata", GateFate::kSilent, GateFate::kWarned},
};

GateFate FateOf(const std::string& name, bool value) {
  const auto config = ReadConfiguration({{"apiVersion", "config.kueue.x-k8s.io/v1beta2"},
                                         {"kind", "Configuration"},
                                         {"featureGates", {{name, value}}}});
  if (!config) {
    EXPECT_EQ(config.error().message.rfind("featureGates." + name + ": ", 0), 0U)
        << config.error().message;
    return GateFate::kRefused;
  }
  for (const auto& [field, why] : config->ignored) {
    EXPECT_EQ(field, "featureGates." + name);
    EXPECT_FALSE(why.empty()) << name;
  }
  return config->ignored.empty() ? GateFate::kSilent : GateFate::kWarned;
}

TEST(KueueGates, EachGateHasItsEffectWhenOnAndWhenOff) {
  for (const GateRow& row : kGateRows) {
    EXPECT_EQ(FateOf(row.name, true), row.on) << row.name;
    EXPECT_EQ(FateOf(row.name, false), row.off) << row.name;
  }
}

TEST(KueueGates, EveryGateOfTheProgramHasATestRow) {
  std::set<std::string_view> rows;
  for (const GateRow& row : kGateRows) rows.insert(row.name);
  for (const std::string_view name : KueueGateNames()) EXPECT_EQ(rows.count(name), 1U) << name;
}

TEST(KueueGates, AGateThatKueueDoesNotHaveIsRefused) {
  EXPECT_EQ(JudgeGate("Lendinglimit", true).kind, GateVerdict::Kind::kUnknown);
  EXPECT_EQ(FateOf("Lendinglimit", true), GateFate::kRefused);
  EXPECT_EQ(FateOf("AllAlpha", true), GateFate::kRefused);
}

// "Gate true warning" for each row of a table whose first three cells are a gate, a value and a
// treatment.
std::set<std::string> DocumentedRows() {
  std::ifstream file(BERTH_CONFIGURATION_PAGE);
  EXPECT_TRUE(file) << BERTH_CONFIGURATION_PAGE;
  std::set<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::array<std::string, 6> cell;  // | `Gate` | `true` | warning
    for (std::string& each : cell) words >> each;
    if (cell[3] != "`true`" && cell[3] != "`false`") continue;
    EXPECT_TRUE(rows.insert(cell[1] + " " + cell[3] + " " + cell[5]).second) << line;
  }
  return rows;
}

TEST(KueueGates, ThePageOfTheConfigurationListsWarningsAndRefusals) {
  std::set<std::string> expected;
  for (const GateRow& row : kGateRows) {
    for (const bool value : {true, false}) {
      const GateFate fate = value ? row.on : row.off;
      if (fate == GateFate::kSilent) continue;
      expected.insert("`" + std::string(row.name) + "` " + (value ? "`true`" : "`false`") +
                      (fate == GateFate::kWarned ? " warning" : " refused"));
    }
  }
  EXPECT_EQ(DocumentedRows(), expected);
}

}  // namespace
}  // namespace berth::admission

// Goal: every feature gate of Kueue is known in both positions: read or in agreement with Berth,
// named in a warning, or refused; and docs/configuration.md lists the warnings and refusals.
//
// Method: a Configuration with one gate for each row and position. Source of the names: Kueue
// pkg/features/kube_features.go (0.20), and gates of earlier releases that Kueue has made
// permanent.

#include "admission/controller/kueue_gates.h"

#include <array>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "admission/controller/configuration.h"

namespace berth::admission {
namespace {

enum class Fate { kSilent, kWarned, kRefused };

struct GateRow {
  const char* name;
  Fate on;
  Fate off;
};

constexpr GateRow kGateRows[] = {
    {"AdmissionCheckValidationRules", Fate::kSilent, Fate::kRefused},
    {"AdmissionFairSharing", Fate::kSilent, Fate::kSilent},
    {"AdmissionGatedBy", Fate::kSilent, Fate::kRefused},
    {"AssignQueueLabelsForPods", Fate::kSilent, Fate::kWarned},
    {"CleanupProvisioningRequestsOnEviction", Fate::kSilent, Fate::kWarned},
    {"ConcurrentAdmission", Fate::kRefused, Fate::kSilent},
    {"ConfigurableResourceTransformations", Fate::kSilent, Fate::kRefused},
    {"CustomMetricLabels", Fate::kSilent, Fate::kSilent},
    {"DeferRayServiceFinalizationForRedisCleanup", Fate::kSilent, Fate::kWarned},
    {"DisableWaitForPodsReady", Fate::kSilent, Fate::kSilent},
    {"ElasticJobsViaWorkloadSlices", Fate::kSilent, Fate::kSilent},
    {"ElasticJobsViaWorkloadSlicesWithTAS", Fate::kSilent, Fate::kSilent},
    {"FailureRecoveryPolicy", Fate::kRefused, Fate::kSilent},
    {"FairSharingPreemptWithinNominal", Fate::kSilent, Fate::kSilent},
    {"FairSharingPrioritizeNonBorrowing", Fate::kSilent, Fate::kSilent},
    {"FastQuotaReleaseInPodIntegration", Fate::kWarned, Fate::kSilent},
    {"FinishOrphanedWorkloads", Fate::kSilent, Fate::kWarned},
    {"FlavorFungibility", Fate::kSilent, Fate::kSilent},
    {"FlavorFungibilityPreserveScanProgress", Fate::kSilent, Fate::kSilent},
    {"HierarchicalCohorts", Fate::kSilent, Fate::kRefused},
    {"KueueDRAIntegration", Fate::kSilent, Fate::kWarned},
    {"KueueDRAIntegrationConsumableCapacity", Fate::kRefused, Fate::kSilent},
    {"KueueDRAIntegrationExtendedResource", Fate::kSilent, Fate::kWarned},
    {"KueueDRAIntegrationPartitionableDevices", Fate::kSilent, Fate::kWarned},
    {"KueueDRARejectWorkloadsWhenDRADisabled", Fate::kSilent, Fate::kRefused},
    {"LWSImmutableGroupSize", Fate::kSilent, Fate::kWarned},
    {"LendingLimit", Fate::kSilent, Fate::kRefused},
    {"LocalQueueDefaulting", Fate::kSilent, Fate::kRefused},
    {"LocalQueueMetrics", Fate::kSilent, Fate::kSilent},
    {"ManagedJobsNamespaceSelector", Fate::kSilent, Fate::kRefused},
    {"ManagedJobsNamespaceSelectorAlwaysRespected", Fate::kSilent, Fate::kRefused},
    {"MetricForWorkloadCreationLatency", Fate::kSilent, Fate::kWarned},
    {"MetricsForCohorts", Fate::kSilent, Fate::kWarned},
    {"MultiKueue", Fate::kWarned, Fate::kSilent},
    {"MultiKueueAdaptersForCustomJobs", Fate::kWarned, Fate::kSilent},
    {"MultiKueueAllowInsecureKubeconfigs", Fate::kWarned, Fate::kSilent},
    {"MultiKueueClusterProfile", Fate::kWarned, Fate::kSilent},
    {"MultiKueueIncrementalDispatcherConfig", Fate::kWarned, Fate::kSilent},
    {"MultiKueueIncrementalDispatcherRespectConfigOrder", Fate::kWarned, Fate::kSilent},
    {"MultiKueueKubeConfigPathValidation", Fate::kWarned, Fate::kSilent},
    {"MultiKueueManagerQuotaAutomation", Fate::kRefused, Fate::kSilent},
    {"MultiKueueOrchestratedPreemption", Fate::kRefused, Fate::kSilent},
    {"MultiKueueRedoAdmissionOnEvictionInWorker", Fate::kSilent, Fate::kSilent},
    {"MultiKueueRemoteSpecSync", Fate::kWarned, Fate::kSilent},
    {"MultiKueueWaitForWorkloadAdmitted", Fate::kSilent, Fate::kSilent},
    {"MultiplePreemptions", Fate::kSilent, Fate::kRefused},
    {"ObjectRetentionPolicies", Fate::kSilent, Fate::kRefused},
    {"PartialAdmission", Fate::kSilent, Fate::kSilent},
    {"PodIntegrationValidateGroupOwner", Fate::kSilent, Fate::kWarned},
    {"PrioritizePreemptorWorkloads", Fate::kSilent, Fate::kSilent},
    {"PriorityBoost", Fate::kSilent, Fate::kSilent},
    {"PrioritySortingWithinCohort", Fate::kSilent, Fate::kSilent},
    {"PropagateBatchJobLabelsToWorkload", Fate::kSilent, Fate::kRefused},
    {"QuotaCheckStrategy", Fate::kSilent, Fate::kSilent},
    {"ReclaimablePods", Fate::kSilent, Fate::kSilent},
    {"RecomputeAssignmentUponPreemptionTargetsOverlap", Fate::kSilent, Fate::kSilent},
    {"RejectUpdatesToCQWithInvalidOnFlavors", Fate::kWarned, Fate::kSilent},
    {"RemoveFinalizersWithStrictPatch", Fate::kSilent, Fate::kSilent},
    {"SchedulerLibraryIntegration", Fate::kSilent, Fate::kSilent},
    {"SchedulerLongRequeueInterval", Fate::kSilent, Fate::kSilent},
    {"SchedulerTimestampPreemptionBuffer", Fate::kRefused, Fate::kSilent},
    {"SchedulingEquivalenceHashing", Fate::kSilent, Fate::kSilent},
    {"ShortWorkloadNames", Fate::kWarned, Fate::kSilent},
    {"SkipAncestorCheckForDeletedWorkloads", Fate::kSilent, Fate::kSilent},
    {"SkipFinalizersForPodsSuspendedByParent", Fate::kSilent, Fate::kSilent},
    {"SkipReassignmentForPodOwnedWorkloads", Fate::kSilent, Fate::kWarned},
    {"SparkApplicationIntegration", Fate::kSilent, Fate::kSilent},
    {"TASAssignmentsEncodingByHostnamePrefix", Fate::kSilent, Fate::kSilent},
    {"TASBalancedPlacement", Fate::kSilent, Fate::kSilent},
    {"TASCacheNodeMatchResults", Fate::kSilent, Fate::kSilent},
    {"TASCacheTopologyTree", Fate::kSilent, Fate::kSilent},
    {"TASCachingRemainingResources", Fate::kSilent, Fate::kSilent},
    {"TASFailedNodeReplacement", Fate::kSilent, Fate::kSilent},
    {"TASFailedNodeReplacementFailFast", Fate::kSilent, Fate::kSilent},
    {"TASHandleOverlappingFlavors", Fate::kSilent, Fate::kWarned},
    {"TASMultiLayerTopology", Fate::kSilent, Fate::kWarned},
    {"TASProfileMixed", Fate::kSilent, Fate::kSilent},
    {"TASRecomputeAssignmentWithinSchedulingCycle", Fate::kSilent, Fate::kSilent},
    {"TASReplaceNodeDueToNotReadyOverFixedTime", Fate::kSilent, Fate::kSilent},
    {"TASReplaceNodeOnNodeTaints", Fate::kSilent, Fate::kSilent},
    {"TASReplaceNodeOnPodTermination", Fate::kSilent, Fate::kSilent},
    {"TASRespectNodeAffinityPreferred", Fate::kSilent, Fate::kSilent},
    {"TASValidateWorkloadSliceSize", Fate::kSilent, Fate::kWarned},
    {"TLSOptions", Fate::kSilent, Fate::kRefused},
    {"TopologyAwareScheduling", Fate::kSilent, Fate::kSilent},
    {"UnadmittedWorkloadsExplicitStatus", Fate::kWarned, Fate::kSilent},
    {"UnadmittedWorkloadsObservability", Fate::kSilent, Fate::kWarned},
    {"ValidateRayAndSparkJobUpdates", Fate::kSilent, Fate::kWarned},
    {"VectorizedResourceRequests", Fate::kSilent, Fate::kSilent},
    {"VisibilityOnDemand", Fate::kSilent, Fate::kSilent},
    {"WorkloadIdentifierAnnotations", Fate::kSilent, Fate::kWarned},
    {"WorkloadPriorityClassDefaulting", Fate::kSilent, Fate::kSilent},
    {"WorkloadRequestUseMergePatch", Fate::kSilent, Fate::kSilent},
    {"WorkloadValidateResourcesAreNonNegative", Fate::kSilent, Fate::kWarned},
    {"WorkloadValidationForPodSetMetadata", Fate::kSilent, Fate::kWarned},
};

Fate FateOf(const std::string& name, bool value) {
  const auto config = ReadConfiguration({{"apiVersion", "config.kueue.x-k8s.io/v1beta2"},
                                         {"kind", "Configuration"},
                                         {"featureGates", {{name, value}}}});
  if (!config) {
    EXPECT_EQ(config.error().message.rfind("featureGates." + name + ": ", 0), 0U)
        << config.error().message;
    return Fate::kRefused;
  }
  for (const auto& [field, why] : config->ignored) {
    EXPECT_EQ(field, "featureGates." + name);
    EXPECT_FALSE(why.empty()) << name;
  }
  return config->ignored.empty() ? Fate::kSilent : Fate::kWarned;
}

TEST(KueueGates, EachIsKnownInBothPositions) {
  for (const GateRow& row : kGateRows) {
    EXPECT_EQ(FateOf(row.name, true), row.on) << row.name;
    EXPECT_EQ(FateOf(row.name, false), row.off) << row.name;
  }
}

TEST(KueueGates, TheProgramHasNoOthers) {
  std::set<std::string_view> rows;
  for (const GateRow& row : kGateRows) rows.insert(row.name);
  for (const std::string_view name : KueueGateNames()) EXPECT_EQ(rows.count(name), 1U) << name;
}

TEST(KueueGates, AGateThatKueueDoesNotHaveIsRefused) {
  EXPECT_EQ(JudgeGate("Lendinglimit", true).kind, GateVerdict::Kind::kUnknown);
  EXPECT_EQ(FateOf("Lendinglimit", true), Fate::kRefused);
  EXPECT_EQ(FateOf("AllAlpha", true), Fate::kRefused);
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
      const Fate fate = value ? row.on : row.off;
      if (fate == Fate::kSilent) continue;
      expected.insert("`" + std::string(row.name) + "` " + (value ? "`true`" : "`false`") +
                      (fate == Fate::kWarned ? " warning" : " refused"));
    }
  }
  EXPECT_EQ(DocumentedRows(), expected);
}

}  // namespace
}  // namespace berth::admission

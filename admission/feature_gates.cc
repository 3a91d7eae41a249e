#include "admission/feature_gates.h"

namespace berth::admission {
namespace {

struct NamedGate {
  std::string_view name;
  bool FeatureGates::*gate;
};

constexpr NamedGate kGates[] = {
    {"ElasticJobsViaWorkloadSlices", &FeatureGates::elastic_jobs},
    {"ElasticJobsViaWorkloadSlicesWithTAS", &FeatureGates::elastic_jobs_with_tas},
    {"FairSharingPreemptWithinNominal", &FeatureGates::fair_sharing_preempt_within_nominal},
    {"FairSharingPrioritizeNonBorrowing", &FeatureGates::fair_sharing_prioritize_non_borrowing},
    {"FlavorFungibility", &FeatureGates::flavor_fungibility},
    {"FlavorFungibilityPreserveScanProgress",
     &FeatureGates::flavor_fungibility_preserve_scan_progress},
    {"PartialAdmission", &FeatureGates::partial_admission},
    {"PrioritizePreemptorWorkloads", &FeatureGates::prioritize_preemptor_workloads},
    {"PriorityBoost", &FeatureGates::priority_boost},
    {"PrioritySortingWithinCohort", &FeatureGates::priority_sorting_within_cohort},
    {"ReclaimablePods", &FeatureGates::reclaimable_pods},
    {"RecomputeAssignmentUponPreemptionTargetsOverlap",
     &FeatureGates::recompute_assignment_upon_preemption_targets_overlap},
    {"SchedulingEquivalenceHashing", &FeatureGates::scheduling_equivalence_hashing},
    {"TASBalancedPlacement", &FeatureGates::tas_balanced_placement},
    {"TASFailedNodeReplacement", &FeatureGates::tas_failed_node_replacement},
    {"TASFailedNodeReplacementFailFast", &FeatureGates::tas_failed_node_replacement_fail_fast},
    {"TASProfileMixed", &FeatureGates::tas_profile_mixed},
    {"TASRecomputeAssignmentWithinSchedulingCycle",
     &FeatureGates::tas_recompute_assignment_within_scheduling_cycle},
    {"TASReplaceNodeDueToNotReadyOverFixedTime",
     &FeatureGates::tas_replace_node_due_to_not_ready_over_fixed_time},
    {"TASReplaceNodeOnNodeTaints", &FeatureGates::tas_replace_node_on_node_taints},
    {"TASReplaceNodeOnPodTermination", &FeatureGates::tas_replace_node_on_pod_termination},
    {"TASRespectNodeAffinityPreferred", &FeatureGates::tas_respect_node_affinity_preferred},
    {"TopologyAwareScheduling", &FeatureGates::topology_aware_scheduling},
};

}  // namespace

bool FeatureGates::Set(std::string_view name, bool enabled) {
  for (const NamedGate& gate : kGates) {
    if (gate.name != name) continue;
    this->*gate.gate = enabled;
    return true;
  }
  return false;
}

}  // namespace berth::admission

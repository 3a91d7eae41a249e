// admission/feature_gates.h — Kueue's feature gates on which decisions depend, by Kueue's names,
// with Kueue's defaults. Berth's own rules: admission/own_rules.h.
//
// Threads: data. Errors: Set returns false for a name that is not in the list.
// Source: Kueue pkg/features/kube_features.go (0.20).
#pragma once

#include <string_view>

namespace berth::admission {

struct FeatureGates {
  bool elastic_jobs = true;
  bool elastic_jobs_with_tas = false;
  bool fair_sharing_preempt_within_nominal = true;
  bool fair_sharing_prioritize_non_borrowing = true;
  bool flavor_fungibility = true;
  bool flavor_fungibility_preserve_scan_progress = true;
  bool partial_admission = true;
  bool prioritize_preemptor_workloads = false;
  bool priority_boost = false;
  bool priority_sorting_within_cohort = true;
  bool reclaimable_pods = true;
  bool recompute_assignment_upon_preemption_targets_overlap = true;
  bool scheduling_equivalence_hashing = true;
  bool tas_balanced_placement = false;
  bool tas_failed_node_replacement = true;
  bool tas_failed_node_replacement_fail_fast = true;
  bool tas_profile_mixed = true;
  bool tas_recompute_assignment_within_scheduling_cycle = true;
  bool tas_replace_node_due_to_not_ready_over_fixed_time = false;
  bool tas_replace_node_on_node_taints = true;
  bool tas_replace_node_on_pod_termination = true;
  bool tas_respect_node_affinity_preferred = false;
  bool topology_aware_scheduling = true;

  bool Set(std::string_view name, bool enabled);
};

}  // namespace berth::admission

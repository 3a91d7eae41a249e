// admission/flavors/flavor_scans.h — the scan over flavors that a workload continues in its next
// cycle: which flavors it has tried, and whether quota has come free since.
//
// Threads: one. Errors: none.
// Source: Kueue pkg/scheduler/flavorassigner (LastTriedFlavorIdx), pkg/workload (LastAssignment).
#pragma once

#include <cstdint>

#include "admission/cluster_state.h"
#include "admission/decision.h"
#include "admission/feature_gates.h"
#include "admission/own_rules.h"
#include "admission/workloads/workload_records.h"

namespace berth::admission {

class FlavorScans {
 public:
  // All must outlive the scans.
  FlavorScans(const ClusterState& state, const FeatureGates& gates, const OwnRules& own_rules)
      : state_(state), gates_(gates), own_rules_(own_rules) {}

  // The scan that the workload continues in cycle number `cycle`; null: it begins a new one.
  const ScanState* Current(const WorkloadRecord& asked, ClusterQueueId queue,
                           std::int64_t cycle) const;
  // Takes the scan of a decision that gave no quota.
  void Keep(WorkloadRecord& kept, const Decision& decision) const;
  // Whether the scan ends, and tried its first flavors before quota came free. Call before Keep.
  bool HasMissedChanges(const WorkloadRecord& kept, const Decision& decision) const;

 private:
  bool Ends(const WorkloadRecord& kept, const Decision& decision) const;

  const ClusterState& state_;
  const FeatureGates& gates_;
  const OwnRules& own_rules_;
};

}  // namespace berth::admission

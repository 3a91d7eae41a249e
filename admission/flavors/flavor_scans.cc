#include "admission/flavors/flavor_scans.h"

#include <memory>
#include <utility>

namespace berth::admission {

const ScanState* FlavorScans::Current(const WorkloadRecord& asked, ClusterQueueId queue,
                                      std::int64_t cycle) const {
  const ScanState* scan = asked.scan.get();
  if (scan == nullptr) return nullptr;
  if (gates_.flavor_fungibility_preserve_scan_progress) {
    if (scan->shape != asked.info.shape) return nullptr;
    if (scan->cycle == cycle - 1) return scan;
  }
  return ChangedSince(state_, queue, scan->changes_seen) ? nullptr : scan;
}

void FlavorScans::Keep(WorkloadRecord& kept, const Decision& decision) const {
  if (decision.outcome == Outcome::kNotNominated) return;
  const ScanState& scan = decision.assignment.scan;
  if (!scan.HasPendingFlavors() || Ends(kept, decision)) return kept.scan.reset();
  auto next = std::make_unique<ScanState>(scan);
  if (kept.scan != nullptr && scan.attempts > 1) {
    next->Mark(*kept.scan);
  } else {
    next->Mark();
  }
  kept.scan = std::move(next);
}

// Whether a scan that has found no flavor would find none later either.
bool FlavorScans::Ends(const WorkloadRecord& kept, const Decision& decision) const {
  const bool found_none = decision.requeue_reason == queue::RequeueReason::kNoFit ||
                          decision.requeue_reason == queue::RequeueReason::kPreemptionNoCandidates;
  if (!own_rules_.rescan_after_changes || !found_none) return false;
  const ScanState& scan = decision.assignment.scan;
  if (!scan.HasPendingFlavors()) return true;
  return scan.attempts > 1 && kept.scan != nullptr && kept.scan->mark == scan.positions &&
         !ChangedSince(state_, decision.cluster_queue, kept.scan->marked_at);
}

bool FlavorScans::HasMissedChanges(const WorkloadRecord& kept, const Decision& decision) const {
  const ScanState& scan = decision.assignment.scan;
  return scan.begun_at != scan.changes_seen && Ends(kept, decision) &&
         ChangedSince(state_, decision.cluster_queue, scan.begun_at);
}

}  // namespace berth::admission

// admission/workloads/slice_replacements.h — which workload slices take over the quota of which
// other slices (workload_slices.h).
//
// Threads: one. Errors: none.
// Source: Kueue KEP-77, pkg/workloadslicing.
#pragma once

#include <map>
#include <optional>

#include "admission/cluster_state.h"
#include "admission/workloads/workload_records.h"

namespace berth::admission {

class SliceReplacements {
 public:
  // Both must outlive the replacements. `elastic_jobs`: the gate ElasticJobsViaWorkloadSlices;
  // without it no slice replaces another one.
  SliceReplacements(const ClusterState& state, const WorkloadRecords& records, bool elastic_jobs)
      : state_(state), records_(records), elastic_jobs_(elastic_jobs) {}

  // The reservation that a slice waiting in `queue` would take over; null: the slice takes over
  // none, and asks for quota for all its pods.
  const Reservation* ReplacedBy(const api::Workload& slice, ClusterQueueId queue) const;
  // Whether the quota of `slice` in `queue` has gone to the next slice.
  bool IsReplaced(const api::Workload& slice, ClusterQueueId queue) const;

  // The workload `id` has got quota. Returns the slice that it replaces: its charge changes.
  std::optional<api::ObjectKey> Add(WorkloadId id);
  // The workload `object` of number `id` has released its quota. Returns the slice that it
  // replaced.
  std::optional<api::ObjectKey> Remove(WorkloadId id, const api::Workload& object);

 private:
  const ClusterState& state_;
  const WorkloadRecords& records_;
  const bool elastic_jobs_;
  // The slices with quota that replace another one, by the key of the slice that is replaced.
  std::map<api::ObjectKey, WorkloadId> replacements_;
};

}  // namespace berth::admission

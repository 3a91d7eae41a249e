// admission/workloads/replaced_slice.h — the slice whose quota a workload takes over: the workload
// asks for the difference to the slice's charges, in the slice's flavors, and keeps its nodes.
//
// Threads: one. Errors: none.
// Units: amounts of the resource's smallest unit.
// Source: Kueue KEP-77, pkg/workloadslicing.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "admission/catalogue/catalogue.h"
#include "admission/decision.h"
#include "admission/flavors/pod_set_group.h"
#include "admission/workloads/workload_slices.h"
#include "api/workload.h"
#include "queue/names.h"
#include "queue/workload_info.h"

namespace berth::admission {

class ReplacedSlice {
 public:
  ReplacedSlice() = default;  // the workload replaces no slice
  // `charges`: the charges of the slice. `workload`: the workload that replaces the slice in
  // `queue`. All must outlive the object.
  ReplacedSlice(const api::Workload& slice, const Charges& charges,
                const queue::WorkloadInfo& workload, const QueueState& queue)
      : slice_(&slice), charges_(&charges), workload_(&workload), queue_(&queue) {}

  bool exists() const { return slice_ != nullptr; }
  // The amount that the slice is charged for the resource of the pod set with this index; 0 without
  // a slice.
  Amount Charged(std::size_t pod_set, ResourceId resource) const {
    return slice_ == nullptr ? 0 : ChargeOf(workload_->pod_sets[pod_set].name, resource);
  }
  // The obstacle where the slice has another flavor of the resource group than `flavor`; nullopt:
  // none. `flavors`: the names of flavors.
  std::optional<Obstacle> FindObstacle(const PodSetGroup& group, const CompiledGroup& resources,
                                       FlavorId flavor, const queue::Names& flavors) const;
  // The pods of the slice stay in its domains. Precondition: exists().
  void KeepTopologies(Assignment& assignment) const;

 private:
  Amount ChargeOf(const std::string& pod_set, ResourceId resource) const;

  const api::Workload* slice_ = nullptr;  // null: no slice, and the others are null too
  const Charges* charges_ = nullptr;
  const queue::WorkloadInfo* workload_ = nullptr;
  const QueueState* queue_ = nullptr;
};

}  // namespace berth::admission

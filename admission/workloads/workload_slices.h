// admission/workloads/workload_slices.h — the workload slices of elastic jobs.
//
// An elastic job that grows gets one more Workload, its next slice, for all of its pods. The slice
// names the slice that it replaces, which holds the quota of the pods that run:
//
//     old slice   3 pods, holds quota     the next slice asks for 5 − 3 = 2 pods, in the flavors of
//     next slice  5 pods, waits           the old one
//
// From its admission on, the next slice is charged for 5 pods, and the old one, until it is
// finished, for none.
//
// Threads: pure functions. Errors: none.
// Source: Kueue KEP-77, pkg/workloadslicing, pkg/scheduler.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/decision.h"
#include "api/workload.h"
#include "queue/workload_info.h"

namespace berth::admission {

// The slice that `slice` replaces, by its annotation; nullopt: it replaces none, or the annotation
// names a slice of another namespace.
std::optional<api::ObjectKey> ReplacedSliceOf(const api::Workload& slice);

// Whether both Workloads belong to one job: a Workload can not take over the quota of another job.
bool HaveOneOwner(const api::Workload& a, const api::Workload& b);

// The charge of one pod set of a workload with quota, for one resource.
struct PodSetCharge {
  std::string pod_set;
  ResourceId resource = -1;
  FlavorId flavor = -1;
  FlavorResourceId flavor_resource = -1;
  Amount amount = 0;
};
using Charges = std::vector<PodSetCharge>;

// Calls fn(assigned pod set, resource, flavor, amount) for each amount that a workload with quota
// is charged: without reclaimable pods, and without pods by which it was scaled down.
template <typename Fn>
void ForEachCharge(const api::Workload& object, queue::ReclaimRule reclaim, Fn fn) {
  const std::vector<std::int32_t> counts = queue::CountsAfterReclaim(object, reclaim);
  for (const api::PodSetAssignment& assigned : object.status.admission->pod_set_assignments) {
    std::int32_t count = assigned.count;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (object.spec.pod_sets[i].name == assigned.name) count = std::min(count, counts[i]);
    }
    for (const auto& [resource, amount] : assigned.resource_usage) {
      const auto flavor = assigned.flavors.find(resource);
      if (flavor == assigned.flavors.end()) continue;
      const Amount used =
          count < assigned.count && assigned.count > 0 ? amount / assigned.count * count : amount;
      fn(assigned, resource, flavor->second, used);
    }
  }
}

Charges ChargesOf(ClusterState& state, const api::Workload& object, queue::ReclaimRule reclaim);

// The usage of all pods of an assignment, where `assignment.usage` is the difference to a replaced
// slice.
Usage WholeUsageOf(const Assignment& assignment);

// "Replaced to accommodate a workload (UID: …": the message of the replaced slice's end.
std::string SliceReplacedMessage(const api::Workload& replacement);

}  // namespace berth::admission

// admission/flavors/flavor_assigner.h — assigns a flavor to each resource of each pod set of one
// workload.
//
// All resources of a resource group of the queue get one flavor. Flavors are tried in the queue's
// order, from the position where the last attempt stopped; the queue's flavorFungibility decides
// when a usable flavor ends the scan and which of several is best. State does not change: what-ifs
// are rolled back.
//
//     pod sets ─▶ pod_set_group.h    which share flavors, with their requests
//     a flavor ─▶ flavor_match.h     whether the pods may run there
//              ─▶ replaced_slice.h   whether the slice that is replaced has it
//              ─▶ flavor_quota.h     whether its quota suffices
//     flavors  ─▶ flavor_mode.h      which is best
//     the rest ─▶ flavor_topology.h  the domains;  flavor_attempts.h: the reasons
//
// Threads: one. Errors: none; an assignment that does not fit is an answer with obstacles.
// Source: Kueue pkg/scheduler/flavorassigner, KEP-582, KEP-993.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/decision.h"
#include "admission/feature_gates.h"
#include "admission/flavors/flavor_attempts.h"
#include "admission/flavors/flavor_match.h"
#include "admission/flavors/flavor_mode.h"
#include "admission/flavors/flavor_quota.h"
#include "admission/flavors/pod_set_group.h"
#include "admission/workloads/replaced_slice.h"

namespace berth::admission {

class FlavorAssigner {
 public:
  struct Context {
    ClusterState& state;
    const FeatureGates& gates;
    bool fair_sharing = false;
    std::int64_t cycle = 0;
    bool topologies = false;         // gate TopologyAwareScheduling
    bool ignore_undeclared = false;  // ignore resources that no group covers
  };
  // `scan`: where the last attempt stopped; null: the first flavor. `nominated`: allow only flavors
  // of this earlier assignment; null: allow all. All arguments must outlive the object.
  FlavorAssigner(const Context& context, const queue::WorkloadInfo& workload, ClusterQueueId queue,
                 const ScanState* scan, const Assignment* nominated, PreemptionOracle& oracle);

  // The workload replaces `slice`, which has these charges: it asks for the difference, in the same
  // flavors. Both must outlive the object.
  void SetReplaced(const api::Workload& slice, const Charges& charges) {
    replaced_ = ReplacedSlice(slice, charges, workload_, queue_);
  }

  // `counts`: pods of each pod set; empty: all pods that need quota. Overwrites `assignment`, which
  // must not be the nominated one.
  void Assign(const std::vector<std::int32_t>& counts, Assignment& assignment);

 private:
  using FlavorChoices = SmallVector<FlavorChoice, 2>;
  using Obstacles = SmallVector<Obstacle, 1>;
  struct FlavorScan {  // the scan of one resource group for one pod-set group
    FlavorChoices best;
    FlavorMode best_mode;
    bool found = false;
    Obstacles obstacles;
    FlavorAttempts attempts;
  };

  // The amount of `request`, which is one of `all`, in the flavor. The number of whole GPUs depends
  // on how many pods share a GPU there.
  Amount AmountIn(FlavorId flavor, const ResourceRequest& request,
                  const queue::Requests& all) const {
    if (request.resource != gpus_) return request.amount;
    return context_.state.flavors().sharing(flavor).GpusOf(all,
                                                           context_.state.vocabulary().resources);
  }
  // Returns false where some pod set of the group got no flavors.
  bool AssignGroup(const PodSetGroup& group, Assignment& assignment);
  void GiveOut(const PodSetGroup& group, const FlavorChoices& choices, Assignment& assignment);
  void FindFlavor(const PodSetGroup& group, const CompiledGroup& resources, ResourceId resource,
                  const Usage& assumed, FlavorScan& flavor_scan);
  FlavorMode TryFlavor(const PodSetGroup& group, const CompiledGroup& resources, std::size_t index,
                       const Usage& assumed, FlavorScan& flavor_scan, FlavorChoices& choices);
  bool IsNominated(const PodSetGroup& group, FlavorId flavor, ResourceId resource) const;
  bool MayBePlaced() const;
  void Finish(Assignment& assignment) const;

  Context context_;
  const queue::WorkloadInfo& workload_;
  const QueueState& queue_;
  const ScanState* scan_;
  const Assignment* nominated_;
  ReplacedSlice replaced_;
  ResourceId pods_;
  ResourceId gpus_;
  bool places_everything_ = false;
  FlavorMatch match_;
  FlavorQuota quota_;
};

// Whether all pods of the workload that need quota fit in the state as it is, without preemption.
// Overwrites `assignment`.
bool FitsWithoutPreemption(const FlavorAssigner::Context& context,
                           const queue::WorkloadInfo& workload, ClusterQueueId queue,
                           Assignment& assignment);

}  // namespace berth::admission

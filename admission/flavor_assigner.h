// admission/flavor_assigner.h — assigns a flavor to each resource of each pod set of one workload.
//
// All resources of a resource group of the queue get one flavor. Flavors are tried in the queue's
// order, from the position where the last attempt stopped; the queue's flavorFungibility decides
// when a usable flavor ends the scan and which of several is best. State does not change: what-ifs
// are rolled back.
//
// Threads: one. Errors: none; an assignment that does not fit is an answer with obstacles.
// Source: Kueue pkg/scheduler/flavorassigner, KEP-582, KEP-993.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/decision.h"
#include "admission/feature_gates.h"
#include "admission/topology/topology_placer.h"
#include "admission/workload_slices.h"

namespace berth::admission {

// Says whether preemption can free `amount` of one flavor-resource, and how far the queue would
// borrow afterwards. The preemption search implements this interface.
class PreemptionOracle {
 public:
  struct Answer {
    PreemptionPossibility possibility = PreemptionPossibility::kNoCandidates;
    std::int32_t borrow_height = 0;
  };
  virtual ~PreemptionOracle() = default;
  virtual Answer Simulate(FlavorResourceId flavor_resource, Amount amount) = 0;
};

class FlavorAssigner {
 public:
  struct Context {
    ClusterState& state;
    const FeatureGates& gates;
    bool fair_sharing = false;
    std::int64_t cycle = 0;
    bool topologies = false;         // gate TopologyAwareScheduling
    bool ignore_undeclared = false;  // resources that no group of the queue covers
  };
  // `scan`: where the last attempt stopped; null: the first flavor. `nominated`: allow only flavors
  // of this earlier assignment; null: allow all. All arguments must outlive the object.
  FlavorAssigner(const Context& context, const queue::WorkloadInfo& workload, ClusterQueueId queue,
                 const ScanState* scan, const Assignment* nominated, PreemptionOracle& oracle);

  // The workload replaces `slice`, which has these charges: it asks for the difference, in the same
  // flavors. Both must outlive the object.
  void SetReplaced(const api::Workload& slice, const Charges& charges) {
    slice_ = &slice;
    replaced_ = &charges;
  }

  // `counts`: pods of each pod set; empty: all pods that need quota. Overwrites `assignment`, which
  // must not be the nominated one.
  void Assign(const std::vector<std::int32_t>& counts, Assignment& assignment);

 private:
  // One answer of the oracle, comparable between flavors.
  enum class Rating : std::uint8_t { kNoFit, kNoCandidates, kPreempt, kReclaim, kFit };
  struct Mode {
    Rating rating = Rating::kFit;
    std::int32_t borrow_height = 0;
  };
  // Pod sets that must share flavors, with their requests added.
  struct PodSetGroup {
    SmallVector<std::size_t, 1> pod_sets;
    queue::Requests requests;  // by resource name
  };
  using PodSetGroups = SmallVector<PodSetGroup, 1>;
  using ResourceOrder = SmallVector<std::size_t, 4>;
  using FlavorChoices = SmallVector<FlavorChoice, 2>;
  using FlavorAttempts = SmallVector<FlavorAttempt, 1>;
  using Obstacles = SmallVector<Obstacle, 1>;
  struct FlavorScan {  // the scan of one resource group for one pod-set group
    FlavorChoices best;
    Mode best_mode;
    bool found = false;
    Obstacles obstacles;
    FlavorAttempts attempts;
  };
  // A request for one flavor-resource, with its pod-set group.
  struct Demand {
    FlavorResourceId flavor_resource = -1;
    ResourceId resource = -1;
    FlavorId flavor = -1;
    Amount assumed = 0;
    Amount request = 0;
  };
  struct QuotaAnswer {
    Mode mode;
    NoFitReason no_fit_reason = NoFitReason::kNone;
  };

  // Adds the resource berth.dev/gpus to requests for GPUs, in the order of names.
  void AddGpus(queue::Requests& requests) const;
  // What a request of `all` is in the flavor: whole GPUs depend on how many pods share one.
  Amount AmountIn(FlavorId flavor, const ResourceRequest& request,
                  const queue::Requests& all) const {
    if (request.resource != gpus_) return request.amount;
    return context_.state.gpu_sharing(flavor).GpusOf(all, context_.state.vocabulary().resources);
  }
  PodSetGroups MakeGroups(Assignment& assignment, const std::vector<std::int32_t>& counts) const;
  ResourceOrder OrderOfResources(const queue::Requests& requests) const;
  // Returns false where some pod set of the group got no flavors.
  bool AssignGroup(const PodSetGroup& group, Assignment& assignment);
  void GiveOut(const PodSetGroup& group, const FlavorChoices& choices, Assignment& assignment);
  void FindFlavor(const PodSetGroup& group, const CompiledGroup& resources, ResourceId resource,
                  const Usage& assumed, FlavorScan& flavor_scan);
  Mode TryFlavor(const PodSetGroup& group, const CompiledGroup& resources, std::size_t index,
                 const Usage& assumed, FlavorScan& flavor_scan, FlavorChoices& choices);
  std::optional<Obstacle> CheckFlavor(const PodSetGroup& group, const CompiledGroup& resources,
                                      FlavorId flavor) const;
  std::optional<std::string> TopologyMismatch(const api::PodSet& pod_set,
                                              const CompiledGroup& resources,
                                              FlavorId flavor) const;
  // What the replaced slice is charged for the resource of the pod set.
  Amount ReplacedAmount(std::size_t pod_set, ResourceId resource) const;
  std::optional<Obstacle> DiffersFromSlice(const PodSetGroup& group, const CompiledGroup& resources,
                                           FlavorId flavor) const;
  bool IsNominated(const PodSetGroup& group, FlavorId flavor, ResourceId resource) const;
  // Appends the reasons that stand against the flavor.
  QuotaAnswer AskQuota(const Demand& demand, Obstacles& obstacles);
  bool CanPreemptWhileBorrowing() const;
  bool Preferred(const Mode& a, const Mode& b) const;
  bool TryNext(const Mode& mode) const;
  void MergeAttempts(FlavorAttempts& into, FlavorScan& flavor_scan,
                     const CompiledGroup& group) const;
  bool MayBePlaced() const;
  void KeepTopologies(Assignment& assignment) const;
  void Finish(Assignment& assignment) const;
  void ResolveNoFitReason(Assignment& assignment) const;

  Context context_;
  const queue::WorkloadInfo& workload_;
  const QueueState& queue_;
  const ScanState* scan_;
  const Assignment* nominated_;
  const api::Workload* slice_ = nullptr;  // null: the workload replaces no slice
  const Charges* replaced_ = nullptr;     // the charges of `slice_`
  PreemptionOracle& oracle_;
  ResourceId pods_;
  ResourceId gpus_;
  bool places_everything_ = false;
};

// The pods of the replaced slice stay in its domains `before`.
void KeepTopology(const api::TopologyAssignment& before, PodSetDecision& pod_set);

// Whether some flavor of the assignment has a topology.
bool UsesTopologies(const ClusterState& state, const Assignment& assignment);

// The pod sets of an assignment, by index, whose pods still need domains.
struct OpenPods {
  std::vector<PlacementRequest> requests;
  std::vector<std::pair<std::size_t, std::string>> impossible;  // no domain fits; why
  std::vector<std::size_t> delayed;                             // wait for the capacity of a check
};
OpenPods OpenPlacements(const ClusterState& state, const QueueState& queue,
                        const api::Workload& workload, const Assignment& assignment);
// Marks the pod sets that get no domains now. Where one is impossible, the mode becomes kNoFit.
void MarkUnplaced(Assignment& assignment, OpenPods open);
void TakePlacements(Assignment& assignment, PlacementResult result);

// The room on nodes that an assignment takes, and that a workload's admission takes.
std::vector<PlacedPods> BookingsOf(ClusterState& state, const api::Workload& workload,
                                   const Assignment& assignment);
std::vector<PlacedPods> BookingsOf(ClusterState& state, const api::Workload& workload);

// Chooses domains for the open placements of an assignment that fits (kFit). Where none are free,
// the mode becomes kPreempt, or kNoFit if empty nodes would not do either.
void PlaceByTopology(ClusterState& state, const QueueState& queue, const api::Workload& workload,
                     Assignment& assignment);

// Whether required node affinity and selector, cut down to the flavor's own label keys, match it.
bool MatchesFlavor(const api::PodSpec& spec, const api::ResourceFlavor& flavor);
// The first NoSchedule or NoExecute taint that neither pods nor flavor tolerate, or null.
const api::Taint* UntoleratedTaint(const api::PodSpec& spec, const api::ResourceFlavor& flavor);

}  // namespace berth::admission

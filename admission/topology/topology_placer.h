// admission/topology/topology_placer.h — the interface of topology-aware scheduling: the flavors
// with topologies, the domains for the pods of a workload, and the usage booked there.
//
//     Node, Pod, Topology, ResourceFlavor ──▶ one TopologyTree per flavor with a topology
//     flavor assigner ──Mismatch──▶ whether the flavor may serve the pod set
//                     ──Place─────▶ domains for each pod set, or a reason
//     reservations ───Use / Free──▶ booked; inside a what-if until RollBack
//
// A node whose topologies end at kubernetes.io/hostname may belong to several flavors; usage that
// is booked on the node counts for all of them. Bookings outlive nodes: they count again when the
// node returns.
//
// Cost: Place recomputes the leaves that changed since the last request of the same shape, and the
// domains it picks; a new shape computes all leaves once.
//
// Threads: one. Errors: none; a placement that does not fit is an answer.
// Source: Kueue KEP-2724, pkg/cache/scheduler/tas_*.go, pkg/scheduler/flavorassigner.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>  // lookup only
#include <vector>

#include "admission/decision.h"
#include "admission/feature_gates.h"
#include "admission/topology/count_view.h"
#include "admission/topology/node_inventory.h"
#include "admission/topology/placed_pods.h"
#include "admission/topology/placement_search.h"
#include "api/queues.h"

namespace berth::admission {

// Pods of one pod set on one flavor. Pod sets of one pod-set group are placed together: the smaller
// set is the leader.
struct PlacementRequest {
  std::size_t pod_set = 0;  // index in the workload
  FlavorId flavor = -1;
  std::int32_t count = 0;
  bool implied = false;  // no topology request; the queue requires one
  friend bool operator==(const PlacementRequest&, const PlacementRequest&) = default;
};

struct Placement {
  std::size_t pod_set = 0;
  FlavorId flavor = -1;
  api::TopologyAssignment assignment;
};

struct PlacementFailure {
  std::size_t pod_set = 0;
  FlavorId flavor = -1;
  std::string reason;  // Kueue's words: topology "X" allows to fit only N out of M pod(s)
};

struct PlacementResult {
  std::vector<Placement> placements;
  std::optional<PlacementFailure> failure;
};

class TopologyPlacer {
 public:
  explicit TopologyPlacer(Vocabulary& vocabulary) : vocabulary_(vocabulary) {}
  TopologyPlacer(const TopologyPlacer&) = delete;
  TopologyPlacer& operator=(const TopologyPlacer&) = delete;

  struct Profile {
    bool least_free_for_unconstrained = true;  // gate TASProfileMixed
    bool balanced = false;                     // gate TASBalancedPlacement
    bool preferred_nodes = false;              // gate TASRespectNodeAffinityPreferred
  };
  void SetProfile(const Profile& profile) { profile_ = profile; }

  // Objects. Returns the flavors whose nodes changed, where the change may help some workload.
  void SetFlavor(FlavorId id, const api::ResourceFlavor& object);
  void RemoveFlavor(FlavorId id);
  void SetTopology(const api::Topology& object);
  void RemoveTopology(const std::string& name);
  std::vector<FlavorId> SetNode(const api::Node& object);
  std::vector<FlavorId> RemoveNode(const std::string& name);
  std::vector<FlavorId> SetPod(const api::Pod& object);
  std::vector<FlavorId> RemovePod(const api::ObjectKey& key);

  // Whether the flavor names a topology. TreeOf returns null where the flavor names none, and while
  // the Topology that it names is missing.
  bool HasTopology(FlavorId flavor) const {
    const FlavorState* state = State(flavor);
    return state != nullptr && !state->topology.empty();
  }
  const TopologyTree* TreeOf(FlavorId flavor) const;

  // The reason why the flavor cannot serve a pod set with a topology, in Kueue's words.
  std::optional<std::string> Mismatch(const api::TopologyRequest& request, FlavorId flavor) const;

  // Domains for the pods of one workload. With nodes to replace (HasUnhealthyAssignment): new
  // domains for the pods of the failed node, the others unchanged. Books nothing.
  PlacementResult Place(const api::Workload& workload,
                        const std::vector<PlacementRequest>& requests, CountKey::Usage usage);

  // The booking of `assignment` for pods of the set.
  PlacedPods Booking(const api::PodSet& pod_set, FlavorId flavor,
                     const api::TopologyAssignment& assignment);
  void Use(const std::vector<PlacedPods>& placed) { Book(placed, 1); }
  void Free(const std::vector<PlacedPods>& placed) { Book(placed, -1); }
  // The flavors whose trees have a domain of `placed`: its own, and others on the same nodes.
  std::vector<FlavorId> FlavorsAt(const std::vector<PlacedPods>& placed);
  // Whether all bookings fit the free amounts. kEachAlone: each pod set alone, and without the
  // nodes' limits on pods.
  enum class Counting : std::uint8_t { kTogether, kEachAlone };
  bool Fits(const std::vector<PlacedPods>& placed, Counting counting);

  // What-ifs nest. Bookings that are used or freed inside a what-if must live until RollBack.
  using Mark = std::size_t;
  Mark Begin();
  void RollBack(Mark mark);

 private:
  struct FlavorState {
    std::string topology;  // empty: none
    api::StringMap node_labels;
    std::vector<api::Toleration> tolerations;
    std::vector<ResourceRequest> shares_per_gpu;
    std::unique_ptr<TopologyTree> tree;
    std::vector<std::unique_ptr<CountView>> views;  // most recently used first
    // Looked up by key of the leaf, never walked.
    std::unordered_map<std::string, std::vector<ResourceRequest>> booked;
  };
  struct NodeState {
    bool counts = false;
    std::vector<ResourceRequest> allocatable;
    NodeFacts facts;
    std::vector<FlavorId> flavors;  // flavors whose trees have the node
  };
  struct PodState {
    std::string node;
    std::vector<ResourceRequest> requests;
  };
  struct Change {
    FlavorId flavor;
    DomainId leaf;
    const std::vector<ResourceRequest>* per_pod;
    std::int64_t count;
  };
  struct Group;

  FlavorState* State(FlavorId flavor) {
    const auto slot = static_cast<std::size_t>(flavor);
    return slot < flavors_.size() ? flavors_[slot].get() : nullptr;
  }
  const FlavorState* State(FlavorId flavor) const {
    const auto slot = static_cast<std::size_t>(flavor);
    return slot < flavors_.size() ? flavors_[slot].get() : nullptr;
  }
  // Names in nodes and in pods outside the queues are interned; names in Workloads are lent, and
  // the scheduler holds them while it knows the Workload.
  enum class NamesOf : std::uint8_t { kNodes, kWorkloads };
  std::vector<ResourceRequest> Numbers(const api::ResourceAmounts& amounts, NamesOf names_of) const;
  std::vector<ResourceRequest> OnePod(const api::PodSpec& spec,
                                      NamesOf names_of = NamesOf::kWorkloads) const;
  // Nodes (private).
  void BuildTree(FlavorId flavor);
  void DropTree(FlavorId flavor);
  void RebookHostnames();
  std::vector<ResourceRequest> BookedAt(FlavorId flavor, const std::string& key) const;
  bool Selects(const FlavorState& state, const NodeState& node) const;
  void Attach(NodeState& node);
  void Detach(NodeState& node);
  std::vector<FlavorId> ChangeUnplanned(const std::string& node,
                                        const std::vector<ResourceRequest>& requests, int sign);
  // Bookings. Calls `visit(flavor, tree, leaf)` for each tree that has the leaf.
  template <typename Visit>
  void ForEachTree(FlavorId flavor, const std::string& key, const Visit& visit);
  void Book(const std::vector<PlacedPods>& placed, std::int64_t sign);
  void Assume(const PlacedPods& placed, std::int64_t sign);
  bool FitsAlone(const PlacedPods& placed) const;
  // Placement.
  // Precondition: `shape` has its pod.
  CountView& ViewOf(FlavorState& state, CountKey shape);
  void PlaceGroup(Group& group);
  std::string PlaceNew(Group& group);
  std::string Replace(Group& group, const PlacementRequest& request);
  std::variant<NodeFilter, std::string> FilterOf(const api::Workload& workload,
                                                 const api::PodSet& pod_set,
                                                 const FlavorState& state) const;

  Vocabulary& vocabulary_;
  Profile profile_;
  std::map<std::string, std::vector<std::string>> topologies_;  // name → levels
  std::vector<std::unique_ptr<FlavorState>> flavors_;           // by number; null: no topology
  std::map<std::string, std::unique_ptr<NodeState>> nodes_;
  std::map<std::string, std::vector<ResourceRequest>> unplanned_;  // by node
  std::map<api::ObjectKey, PodState> pods_;
  std::vector<Change> changes_;  // changes of the open what-ifs
  int open_marks_ = 0;
};

}  // namespace berth::admission

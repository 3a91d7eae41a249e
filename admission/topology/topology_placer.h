// admission/topology/topology_placer.h — topology-aware scheduling behind one door: which flavors
// have nodes to choose from, where the pods of a workload go, and what is booked there.
//
//     Node, Pod, Topology, ResourceFlavor ──▶ one TopologyTree per flavor with a topology
//     flavor assigner ──Mismatch──▶ may this flavor serve the pod set?
//                     ──Place─────▶ domains for each pod set, or why not
//     reservations ───Use / Free──▶ booked; in a what-if (Begin … RollBack) for a while
//
// A node whose topologies end at kubernetes.io/hostname may belong to several flavors; what is
// booked on it counts for all of them. Bookings outlive nodes: they count again when the node is
// back.
//
// Cost: Place looks at the leaves that changed since the last request of the same shape, and at the
// domains it takes; a new shape looks at all leaves once.
//
// Threads: one. Errors: none; what does not fit is an answer.
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

// Pods of one pod set on one flavor. Those of one pod-set group are placed together: the smaller
// set is the leader of the other.
struct PlacementRequest {
  std::size_t pod_set = 0;  // index in the workload
  FlavorId flavor = -1;
  std::int32_t count = 0;
  bool implied = false;  // not asked for, but the queue has nothing else
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
  };
  void SetProfile(const Profile& profile) { profile_ = profile; }

  // Objects. The flavors whose nodes changed are returned, where that may help somebody.
  void SetFlavor(FlavorId id, const api::ResourceFlavor& object);
  void RemoveFlavor(FlavorId id);
  void SetTopology(const api::Topology& object);
  void RemoveTopology(const std::string& name);
  std::vector<FlavorId> SetNode(const api::Node& object);
  std::vector<FlavorId> RemoveNode(const std::string& name);
  std::vector<FlavorId> SetPod(const api::Pod& object);
  std::vector<FlavorId> RemovePod(const api::ObjectKey& key);

  // Whether the flavor names a topology; null: it has none, or its Topology is missing.
  bool HasTopology(FlavorId flavor) const {
    const FlavorState* state = State(flavor);
    return state != nullptr && !state->topology.empty();
  }
  const TopologyTree* TreeOf(FlavorId flavor) const;

  // Why the flavor cannot serve a pod set that asks for a topology, in Kueue's words.
  std::optional<std::string> Mismatch(const api::TopologyRequest& request, FlavorId flavor) const;

  // Where pods of one workload go. With nodes to replace (HasUnhealthyAssignment), new places for
  // the pods of the failed node; the rest stays. Nothing is booked.
  PlacementResult Place(const api::Workload& workload,
                        const std::vector<PlacementRequest>& requests, CountKey::Usage usage);

  // What `assignment` books for pods of the set.
  PlacedPods Booking(const api::PodSet& pod_set, FlavorId flavor,
                     const api::TopologyAssignment& assignment);
  void Use(const std::vector<PlacedPods>& placed) { Book(placed, 1); }
  void Free(const std::vector<PlacedPods>& placed) { Book(placed, -1); }
  // Whether all of it has room where it is to go. kEachAlone: each set for itself, and however many
  // pods a node takes.
  enum class Counting : std::uint8_t { kTogether, kEachAlone };
  bool Fits(const std::vector<PlacedPods>& placed, Counting counting);

  // What-ifs nest. What is used or freed meanwhile must live until RollBack.
  using Mark = std::size_t;
  Mark Begin();
  void RollBack(Mark mark);

 private:
  struct FlavorState {
    std::string topology;  // empty: none
    api::StringMap node_labels;
    std::vector<api::Toleration> tolerations;
    std::unique_ptr<TopologyTree> tree;
    std::vector<std::unique_ptr<CountView>> views;  // last used first
    // Looked up by key of the leaf, never walked.
    std::unordered_map<std::string, std::vector<ResourceRequest>> booked;
  };
  struct NodeState {
    bool counts = false;
    std::vector<ResourceRequest> allocatable;
    NodeFacts facts;
    std::vector<FlavorId> flavors;  // in whose trees it is
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
  std::vector<ResourceRequest> Numbers(const api::ResourceAmounts& amounts) const;
  std::vector<ResourceRequest> OnePod(const api::PodSpec& spec) const;
  // Nodes.
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
  // Placing.
  CountView& ViewOf(FlavorState& state, CountKey shape);
  void PlaceGroup(Group& group);
  std::string PlaceNew(Group& group);
  std::string Replace(Group& group, const PlacementRequest& request);
  std::variant<NodeFilter, std::string> FilterOf(const api::Workload& workload,
                                                 const api::PodSet& pod_set,
                                                 const FlavorState& state) const;

  Vocabulary& vocabulary_;
  Profile profile_;
  std::map<std::string, std::vector<std::string>> topologies_;  // levels
  std::vector<std::unique_ptr<FlavorState>> flavors_;           // by number; null: no topology
  std::map<std::string, std::unique_ptr<NodeState>> nodes_;
  std::map<std::string, std::vector<ResourceRequest>> unplanned_;  // by node
  std::map<api::ObjectKey, PodState> pods_;
  std::vector<Change> changes_;  // of the what-ifs under way
  int open_marks_ = 0;
};

}  // namespace berth::admission

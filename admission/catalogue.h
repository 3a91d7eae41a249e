// admission/catalogue.h — the objects that decisions read: ClusterQueues and cohorts compiled to
// numbers, flavors, checks, topologies and nodes. Updated incrementally: the cost of a change is
// proportional to the objects that the change concerns.
//
//     objects ──Set…/Remove…──▶ Catalogue (QueueStates, quotas in the QuotaTree) ──▶ decisions
//
// Objects may come in any order: a ClusterQueue that names a missing object is inactive, with
// reasons. A cohort exists as soon as an object names the cohort. Each change returns the trees
// (Wakes) whose inadmissible workloads the change may make admissible.
//
// Threads: one. Errors: none; the webhooks refuse invalid objects.
// Source: Kueue pkg/cache/scheduler, pkg/controller/core/clusterqueue_controller.go.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/decision.h"
#include "admission/gpu_sharing.h"
#include "admission/quota_tree.h"
#include "admission/topology/topology_placer.h"
#include "api/pod.h"
#include "api/queues.h"
#include "base/small_vector.h"

namespace berth::admission {

// A resource group compiled to numbers, contiguous in memory: each head reads one.
struct CompiledGroup {
  SmallVector<ResourceId, 4> resources;               // by name
  SmallVector<FlavorId, 4> flavors;                   // in the order in which they are tried
  SmallVector<FlavorResourceId, 8> flavor_resources;  // by flavor, then resource

  bool Covers(ResourceId resource) const {
    return std::find(resources.begin(), resources.end(), resource) != resources.end();
  }
  bool Has(FlavorId flavor) const {
    return std::find(flavors.begin(), flavors.end(), flavor) != flavors.end();
  }
  // Returns -1 where the flavor has no quota for the resource.
  FlavorResourceId Find(std::size_t flavor_index, ResourceId resource) const {
    const auto found = std::find(resources.begin(), resources.end(), resource);
    if (found == resources.end()) return -1;
    return flavor_resources[flavor_index * resources.size() +
                            static_cast<std::size_t>(found - resources.begin())];
  }
};

struct InactiveReason {
  std::string reason;   // reason of the condition Active
  std::string message;  // a part of the condition's message
};

struct QueueState {
  // The fields that each head reads come first.
  NodeId node = kNoQuotaNode;
  bool present = false;
  bool deleting = false;
  std::int64_t changed_at = 0;           // see Catalogue::changes
  std::vector<InactiveReason> inactive;  // empty: the queue takes heads
  SmallVector<CompiledGroup, 1> groups;
  api::ClusterQueueSpec spec;
  std::string name;

  bool active() const { return present && inactive.empty(); }
  const CompiledGroup* GroupOf(ResourceId resource) const {
    for (const CompiledGroup& group : groups) {
      if (group.Covers(resource)) return &group;
    }
    return nullptr;
  }
  std::string ActiveReason() const;
  std::string ActiveMessage() const;
};

// The queues whose inadmissible workloads a change may help: one queue without a cohort, or all
// queues below a root cohort.
struct WakeTarget {
  ClusterQueueId queue = -1;  // -1: the target is the cohort
  std::string cohort;
  friend auto operator<=>(const WakeTarget&, const WakeTarget&) = default;
};
using Wakes = std::vector<WakeTarget>;

class Catalogue {
 public:
  // `queues` gives the ClusterQueues their numbers and must outlive this object.
  explicit Catalogue(queue::QueueSet& queues);
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;

  Vocabulary& vocabulary() { return vocabulary_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  QuotaTree& tree() { return tree_; }
  const QuotaTree& tree() const { return tree_; }
  TopologyPlacer& placer() { return placer_; }
  const TopologyPlacer& placer() const { return placer_; }
  const QueueState& queue(ClusterQueueId id) const {
    return *states_[static_cast<std::size_t>(id)];
  }

  Wakes SetClusterQueue(const api::ClusterQueue& object);
  Wakes RemoveClusterQueue(const std::string& name);
  struct CohortChange {
    Wakes wakes;
    bool changed = false;  // the cohort is new, is gone, or has another spec
  };
  CohortChange SetCohort(const api::Cohort& object);
  CohortChange RemoveCohort(const std::string& name);
  Wakes SetFlavor(const api::ResourceFlavor& object);
  Wakes RemoveFlavor(const std::string& name);
  Wakes SetCheck(const api::AdmissionCheck& object);
  Wakes RemoveCheck(const std::string& name);
  Wakes SetTopology(const api::Topology& object);
  Wakes RemoveTopology(const std::string& name);
  Wakes SetNode(const api::Node& object) { return UsersOf(placer_.SetNode(object)); }
  Wakes RemoveNode(const std::string& name) { return UsersOf(placer_.RemoveNode(name)); }
  Wakes SetPod(const api::Pod& object) { return UsersOf(placer_.SetPod(object)); }
  Wakes RemovePod(const api::ObjectKey& key) { return UsersOf(placer_.RemovePod(key)); }

  // Returns null where no such flavor exists.
  std::shared_ptr<const api::ResourceFlavor> flavor(FlavorId id) const;
  const GpuSharing& gpu_sharing(FlavorId id) const;
  // Whether the flavor exists and has no node labels to match, no taints to tolerate, and no limit
  // of what a pod may ask for.
  bool TakesAllPods(FlavorId id) const {
    const auto slot = static_cast<std::size_t>(id);
    return slot < takes_all_pods_.size() && takes_all_pods_[slot] != 0;
  }
  // The number of the resource `pods`, which has rules of its own.
  ResourceId pods() const { return pods_; }
  // The number of the resource berth.dev/gpus, likewise.
  ResourceId gpus() const { return gpus_; }

  // The number of changes so far that may have raised the allocatable quota of some queue.
  std::int64_t changes() const { return changes_; }
  // Whether a change after the first `changes` ones concerned the queue or its tree.
  bool ChangedSince(ClusterQueueId id, std::int64_t changes) const;

  // Notes that quota or nodes of the queue became free.
  void NoteFreed(ClusterQueueId id) { state(id).changed_at = ++changes_; }

  // Makes the state of a queue that is named while its object is missing.
  void EnsureQueue(ClusterQueueId id) { state(id); }
  bool HasQueue(ClusterQueueId id) const {
    return static_cast<std::size_t>(id) < states_.size() && queue(id).present;
  }

  // The tree of `id`, as a target to wake; nullopt below a cycle of cohorts.
  std::optional<WakeTarget> TreeOf(ClusterQueueId id) const;
  // The trees of the active queues that use one of `flavors`. Costs the number of trees, as long as
  // no queue and no cohort changes.
  Wakes UsersOf(const std::vector<FlavorId>& flavors);
  // The queues that `target` covers, in no order.
  std::vector<ClusterQueueId> QueuesOf(const WakeTarget& target) const;
  // Whether the scheduler takes heads from the queue: active, and not below a cycle of cohorts.
  bool Usable(ClusterQueueId id) const {
    const QueueState& asked = queue(id);
    return asked.active() && !tree_.InCycle(asked.node);
  }
  ClusterQueueId QueueAt(NodeId leaf) const {  // -1: the node is a cohort
    const auto slot = static_cast<std::size_t>(leaf);
    return slot < queue_of_leaf_.size() ? queue_of_leaf_[slot] : -1;
  }
  std::string CohortName(NodeId node) const;  // empty: the node is no cohort
  double FairWeight(NodeId node) const;
  std::vector<std::string> CohortsInCycles() const;
  std::vector<std::string> CohortNames() const;
  std::optional<NodeId> CohortNode(const std::string& name) const;
  std::vector<ClusterQueueId> PresentQueues() const;                       // by name
  std::optional<ClusterQueueId> FindQueue(const std::string& name) const;  // among present queues

  // The checks that a workload with these flavors has to pass in the queue, by name.
  std::vector<std::string> RequiredChecks(ClusterQueueId id,
                                          const std::vector<std::string>& flavors) const;

  // Whether a check of the queue for the flavor asks for capacity: the nodes do not exist yet.
  bool AsksForCapacity(const QueueState& queue, FlavorId flavor) const;
  // Whether all flavors of the queue have topologies, so that every pod set is placed.
  bool PlacesEverything(const QueueState& queue) const {
    for (const CompiledGroup& group : queue.groups) {
      for (const FlavorId flavor : group.flavors) {
        if (!placer_.HasTopology(flavor)) return false;
      }
    }
    return true;
  }

  // The checks that hold for every flavor of the queue, hence known without an assignment.
  std::vector<std::string> ChecksBeforeReservation(ClusterQueueId id) const;

 private:
  struct CohortState {
    std::string name;
    NodeId node = kNoQuotaNode;
    std::optional<api::CohortSpec> spec;  // nullopt: the cohort is named, but has no object
  };
  struct CheckState {
    bool active = false;
    std::string controller;
  };

  struct FlavorState {
    std::shared_ptr<const api::ResourceFlavor> object;  // null: no such object
    GpuSharing sharing;
    std::vector<ClusterQueueId> users;  // present queues, sorted
    Wakes trees;                        // the trees of active users
    std::uint64_t trees_build = 0;      // build of `trees`; 0: none
  };

  QueueState& state(ClusterQueueId id);
  FlavorState& flavor_state(FlavorId id);
  NodeId CohortNodeFor(const std::string& name);  // makes the node if it is missing
  void DropUnused(NodeId cohort);
  void Join(NodeId node, const std::string& cohort);
  void Add(QueueState& queue, ClusterQueueId id, const std::string& name);
  void Compile(QueueState& queue);
  // Lists the queue under its flavors and checks, so that a change of one finds its queues.
  void ListUser(const QueueState& queue, ClusterQueueId id);
  void UnlistUser(const QueueState& queue, ClusterQueueId id);
  std::vector<Quota> QuotasOf(const std::vector<api::ResourceGroup>& groups);
  std::vector<InactiveReason> WhyInactive(const QueueState& queue) const;
  // Recomputes whether queues are active; returns the trees of those that became active.
  Wakes RefreshActive(const std::vector<ClusterQueueId>& concerned);
  Wakes RefreshUsersOfCheck(const std::string& check);
  std::vector<ClusterQueueId> UsersOfTopology(const std::string& topology) const;  // sorted
  // Notes that quotas, members or activity in the tree of the node changed.
  void NoteTreeChange(NodeId node);
  Wakes TreesOf(const std::vector<ClusterQueueId>& ids) const;
  void CollectQueues(NodeId node, std::vector<ClusterQueueId>& queues) const;

  QuotaTree tree_;  // first member: aligned to cache lines
  queue::QueueSet& queues_;
  Vocabulary vocabulary_;
  TopologyPlacer placer_{vocabulary_};
  std::vector<std::unique_ptr<QueueState>> states_;  // by ClusterQueueId
  std::map<std::string, ClusterQueueId> present_;
  std::map<std::string, CohortState> cohorts_;
  std::vector<FlavorState> flavors_;          // by FlavorId
  std::vector<std::uint8_t> takes_all_pods_;  // by FlavorId
  std::map<std::string, CheckState> checks_;
  std::map<std::string, std::vector<ClusterQueueId>> users_of_checks_;  // each sorted
  std::map<std::string, api::Topology> topologies_;
  std::vector<ClusterQueueId> queue_of_leaf_;
  std::vector<std::string> cohort_of_node_;
  std::vector<double> weights_;  // by node
  std::int64_t changes_ = 0;
  std::vector<std::int64_t> tree_changed_at_;  // by node, set while the node is a root
  ResourceId pods_ = queue::Names::kNone;
  ResourceId gpus_ = queue::Names::kNone;
};

}  // namespace berth::admission

// admission/cluster_state.h — what the decisions read: ClusterQueues and cohorts compiled to
// numbers, flavors, checks, and who holds how much quota. Kept incrementally: a change costs what
// it concerns.
//
//     objects ──Set…/Remove…──▶ ClusterState (QuotaTree, QueueState, reservations) ──▶ decisions
//
// Objects may come in any order: what a queue names and what is missing makes the queue inactive,
// with its reasons. Cohorts exist as soon as somebody names them. Each change returns the trees
// whose inadmissible workloads it may help (Wakes).
//
// Threads: one. Errors: none; bad objects were refused by the webhooks.
// Source: Kueue pkg/cache/scheduler, pkg/controller/core/clusterqueue_controller.go.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/decision.h"
#include "admission/quota_tree.h"
#include "admission/topology/topology_placer.h"
#include "api/pod.h"
#include "api/queues.h"
#include "base/small_vector.h"

namespace berth::admission {

// A resource group with numbers, all in one place: every head reads it.
struct CompiledGroup {
  SmallVector<ResourceId, 4> resources;               // by name
  SmallVector<FlavorId, 4> flavors;                   // in the order they are tried
  SmallVector<FlavorResourceId, 8> flavor_resources;  // by flavor, then resource

  bool Covers(ResourceId resource) const {
    return std::find(resources.begin(), resources.end(), resource) != resources.end();
  }
  bool Has(FlavorId flavor) const {
    return std::find(flavors.begin(), flavors.end(), flavor) != flavors.end();
  }
  // -1 where the flavor has no quota for the resource.
  FlavorResourceId Find(std::size_t flavor_index, ResourceId resource) const {
    const auto found = std::find(resources.begin(), resources.end(), resource);
    if (found == resources.end()) return -1;
    return flavor_resources[flavor_index * resources.size() +
                            static_cast<std::size_t>(found - resources.begin())];
  }
};

// A workload that holds quota. Candidates for preemption are read from the queue's list of these.
struct Reservation {
  WorkloadId workload = queue::kNoNode;
  std::shared_ptr<const api::Workload> object;
  ClusterQueueId cluster_queue = -1;
  Usage usage;
  std::int64_t priority = 0;
  WallTime queued_at{};            // its queue-order instant
  WallTime reserved_at{};          // when QuotaReserved became true
  bool evicted = false;            // told to stop, has not stopped yet
  bool admitted = false;           // condition Admitted
  bool pods_ready = false;         // condition PodsReady
  bool foreign_owner = false;      // nothing here stops its job: it is no candidate
  std::vector<PlacedPods> placed;  // what it takes of nodes

  bool Uses(FlavorResourceId fr) const;
};

// A reservation in its queue's list, with what the order looks at.
struct Held {
  std::int64_t priority = 0;
  WallTime reserved_at{};
  std::uint64_t uid_start = 0;  // first bytes of the UID, in its order
  Reservation* reservation = nullptr;
  std::uint64_t uses = 0;  // a bit for each flavor-resource used, modulo 64
  bool evicted = false;
  bool foreign_owner = false;

  // False: certainly not; true: perhaps.
  bool MayUse(FlavorResourceId fr) const { return ((uses >> (fr % 64)) & 1U) != 0; }
};

struct InactiveReason {
  std::string reason;   // of the condition Active
  std::string message;  // a part of its message
};

struct QueueState {
  // What every head reads comes first.
  NodeId node = kNoQuotaNode;
  bool present = false;
  bool deleting = false;
  std::int64_t changed_at = 0;           // see ClusterState::changes
  std::vector<InactiveReason> inactive;  // empty: takes heads
  SmallVector<CompiledGroup, 1> groups;
  // In the order candidates are taken in: evicted first, then lower priority, later reservation,
  // UID.
  std::vector<Held> reservations;
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

// Whether `a` is taken before `b`.
bool TakenBefore(const Held& a, const Held& b);
bool TakenBefore(const Reservation& a, const Reservation& b);

// Whose inadmissible workloads to retry: those of a queue without a cohort, or of the whole tree
// below a root cohort.
struct WakeTarget {
  ClusterQueueId queue = -1;  // -1: the cohort
  std::string cohort;
  friend auto operator<=>(const WakeTarget&, const WakeTarget&) = default;
};
using Wakes = std::vector<WakeTarget>;

class ClusterState {
 public:
  // `names` gives the queues their numbers; it outlives this object.
  explicit ClusterState(queue::QueueSet& queues);

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
    bool changed = false;  // it is new or has gone, or its spec is another
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

  // null: there is none.
  std::shared_ptr<const api::ResourceFlavor> flavor(FlavorId id) const;
  // The flavor exists, has no node labels to match and no taints to tolerate.
  bool TakesAllPods(FlavorId id) const {
    const auto slot = static_cast<std::size_t>(id);
    return slot < takes_all_pods_.size() && takes_all_pods_[slot] != 0;
  }
  // The resource `pods`, which has rules of its own.
  ResourceId pods() const { return pods_; }
  const api::Topology* topology(const std::string& name) const;

  // Counts the changes after which more may be allocatable to some queue.
  std::int64_t changes() const { return changes_; }
  // Whether one of those after the first `changes` concerned the queue or its tree.
  bool ChangedSince(ClusterQueueId id, std::int64_t changes) const;

  // Makes room for a queue that is named before its object has come.
  void EnsureQueue(ClusterQueueId id) { state(id); }
  bool HasQueue(ClusterQueueId id) const {
    return static_cast<std::size_t>(id) < states_.size() && queue(id).present;
  }

  // Holds quota from now on, or with new numbers. Releasing may help others.
  void Reserve(std::unique_ptr<Reservation> reservation);
  void Release(WorkloadId workload);
  const Reservation* reservation(WorkloadId workload) const;
  // How many hold quota while their pods are not all ready.
  std::int64_t not_ready_count() const { return not_ready_count_; }
  // Re-sorts after priority, eviction or time changed.
  void Update(WorkloadId workload, const std::function<void(Reservation&)>& change);

  // What-ifs on quota and nodes together; they nest. A reservation that is taken out or put back in
  // one must live until its end.
  struct WhatIf {
    QuotaTree::Mark quota;
    TopologyPlacer::Mark nodes = 0;
  };
  WhatIf Begin() { return {tree_.Begin(), placer_.Begin()}; }
  void RollBack(const WhatIf& what_if) {
    placer_.RollBack(what_if.nodes);
    tree_.RollBack(what_if.quota);
  }
  void TakeOut(const Reservation& reservation) {
    tree_.RemoveUsage(queue(reservation.cluster_queue).node, reservation.usage);
    if (!reservation.placed.empty()) placer_.Free(reservation.placed);
  }
  void PutBack(const Reservation& reservation) {
    tree_.AddUsage(queue(reservation.cluster_queue).node, reservation.usage);
    if (!reservation.placed.empty()) placer_.Use(reservation.placed);
  }

  // What to wake for the sake of `id`; nullopt below a cycle of cohorts.
  std::optional<WakeTarget> TreeOf(ClusterQueueId id) const;
  // The trees of the active queues that use one of them. Costs the trees, as long as no queue and
  // no cohort changes.
  Wakes UsersOf(const std::vector<FlavorId>& flavors);
  // The queues that `target` covers now, in no order.
  std::vector<ClusterQueueId> QueuesOf(const WakeTarget& target) const;
  // In the scheduler's eyes: active, and not below a cycle.
  bool Usable(ClusterQueueId id) const {
    const QueueState& asked = queue(id);
    return asked.active() && !tree_.InCycle(asked.node);
  }
  ClusterQueueId QueueAt(NodeId leaf) const {  // -1: a cohort
    const auto slot = static_cast<std::size_t>(leaf);
    return slot < queue_of_leaf_.size() ? queue_of_leaf_[slot] : -1;
  }
  std::string CohortName(NodeId node) const;  // empty: not a cohort
  double FairWeight(NodeId node) const;
  std::vector<std::string> CohortsInCycles() const;
  std::vector<std::string> CohortNames() const;
  std::optional<NodeId> CohortNode(const std::string& name) const;
  std::vector<ClusterQueueId> PresentQueues() const;                       // by name
  std::optional<ClusterQueueId> FindQueue(const std::string& name) const;  // of the present ones

  // The checks a workload with these flavors has to pass in the queue, by name.
  std::vector<std::string> RequiredChecks(ClusterQueueId id,
                                          const std::vector<std::string>& flavors) const;

  // Whether a check of the queue for the flavor asks for capacity: its nodes are not there yet.
  bool AsksForCapacity(const QueueState& queue, FlavorId flavor) const;
  // All flavors of the queue have topologies: every pod set is placed.
  bool PlacesEverything(const QueueState& queue) const {
    for (const CompiledGroup& group : queue.groups) {
      for (const FlavorId flavor : group.flavors) {
        if (!placer_.HasTopology(flavor)) return false;
      }
    }
    return true;
  }

  // Those that are known before flavors are: the checks that hold for every flavor of the queue.
  std::vector<std::string> ChecksBeforeReservation(ClusterQueueId id) const;

  FlavorResourceId FlavorResourceNumber(FlavorId flavor, ResourceId resource);
  FlavorId FlavorOf(FlavorResourceId fr) const {
    return pairs_[static_cast<std::size_t>(fr)].first;
  }
  ResourceId ResourceOf(FlavorResourceId fr) const {
    return pairs_[static_cast<std::size_t>(fr)].second;
  }

 private:
  struct CohortState {
    std::string name;
    NodeId node = kNoQuotaNode;
    std::optional<api::CohortSpec> spec;  // nullopt: it is only named
  };
  struct CheckState {
    bool active = false;
    std::string controller;
  };

  struct FlavorState {
    std::shared_ptr<const api::ResourceFlavor> object;  // null: there is none
    std::vector<ClusterQueueId> users;                  // present queues, sorted
    Wakes trees;                                        // of those that are active
    std::uint64_t trees_build = 0;                      // of the quota tree; 0: not made
  };

  QueueState& state(ClusterQueueId id);
  FlavorState& flavor_state(FlavorId id);
  NodeId CohortNodeFor(const std::string& name);  // makes it
  void DropUnused(NodeId cohort);
  void Join(NodeId node, const std::string& cohort);
  void Add(QueueState& queue, ClusterQueueId id, const std::string& name);
  void Compile(QueueState& queue);
  // By flavor and check, so that a change of one finds its queues.
  void ListUser(const QueueState& queue, ClusterQueueId id);
  void UnlistUser(const QueueState& queue, ClusterQueueId id);
  std::vector<Quota> QuotasOf(const std::vector<api::ResourceGroup>& groups);
  std::vector<InactiveReason> WhyInactive(const QueueState& queue) const;
  // Looks again at what makes queues active; returns the trees of those that became so.
  Wakes RefreshActive(const std::vector<ClusterQueueId>& concerned);
  Wakes RefreshUsersOfCheck(const std::string& check);
  Wakes RefreshUsersOfTopology(const std::string& topology);
  // Quotas, members or activity in the tree of the node have changed.
  void NoteTreeChange(NodeId node);
  Wakes TreesOf(const std::vector<ClusterQueueId>& ids) const;
  void CollectQueues(NodeId node, std::vector<ClusterQueueId>& queues) const;
  void Insert(QueueState& queue, Reservation& reservation);
  void Erase(QueueState& queue, Reservation& reservation);

  QuotaTree tree_;  // first: it is aligned to cache lines
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
  std::vector<std::unique_ptr<Reservation>> reservations_;  // by WorkloadId
  std::vector<std::pair<FlavorId, ResourceId>> pairs_;
  std::map<std::pair<FlavorId, ResourceId>, FlavorResourceId> pair_numbers_;
  std::vector<ClusterQueueId> queue_of_leaf_;
  std::vector<std::string> cohort_of_node_;
  std::vector<double> weights_;  // by node
  std::int64_t changes_ = 0;
  std::vector<std::int64_t> tree_changed_at_;  // by node: while it was a root
  std::int64_t not_ready_count_ = 0;
  ResourceId pods_ = queue::Names::kNone;
};

}  // namespace berth::admission

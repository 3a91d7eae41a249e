// admission/catalogue/catalogue.h — the objects that decisions read: ClusterQueues and cohorts
// compiled to numbers, flavors, checks, topologies and nodes. Updated incrementally: the cost of a
// change is proportional to the objects that the change concerns.
//
//     objects ──Set…/Remove…──▶ Catalogue (tables of objects, quotas in the QuotaTree) ──▶ decisions
//
// Objects may come in any order: a ClusterQueue that names a missing object is inactive, with
// reasons. A cohort exists as soon as an object names the cohort. Each change returns the trees
// (Wakes) whose inadmissible workloads the change may make admissible.
//
// Threads: one. Errors: none; the webhooks refuse invalid objects.
// Source: Kueue pkg/cache/scheduler, pkg/controller/core/clusterqueue_controller.go.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "admission/catalogue/change_clock.h"
#include "admission/catalogue/check_table.h"
#include "admission/catalogue/cohort_table.h"
#include "admission/catalogue/flavor_table.h"
#include "admission/catalogue/queue_table.h"
#include "admission/decision.h"
#include "admission/quota/quota_tree.h"
#include "admission/topology/topology_placer.h"
#include "api/queues.h"

namespace berth::admission {

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
  explicit Catalogue(queue::QueueSet& queues) : queues_(queues) {}
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;

  Vocabulary& vocabulary() { return vocabulary_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  QuotaTree& tree() { return tree_; }
  const QuotaTree& tree() const { return tree_; }
  TopologyPlacer& placer() { return placer_; }
  const TopologyPlacer& placer() const { return placer_; }
  const QueueTable& cluster_queues() const { return cluster_queues_; }
  const QueueState& queue(ClusterQueueId id) const { return cluster_queues_[id]; }
  const CohortTable& cohorts() const { return cohorts_; }
  const FlavorTable& flavors() const { return flavors_; }
  const CheckTable& checks() const { return checks_; }
  const ChangeClock& changes() const { return changes_; }
  // The weight of a ClusterQueue or cohort for fair sharing.
  double FairWeight(NodeId node) const;

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

  // Makes the state of a queue that is named while its object is missing.
  void EnsureQueue(ClusterQueueId id) { cluster_queues_.Make(id); }
  // The trees of the active queues that use one of `flavors`. Costs the number of trees, as long as
  // no queue and no cohort changes.
  Wakes UsersOf(const std::vector<FlavorId>& flavors);

 protected:
  // Notes that quota or nodes of the queue became free.
  void NoteFreed(ClusterQueueId id) { cluster_queues_.Make(id).changed_at = changes_.Tick(); }

 private:
  struct FlavorUsers {
    std::vector<ClusterQueueId> queues;  // present queues, sorted
    Wakes trees;                         // the trees of active ones
    std::uint64_t trees_build = 0;       // QuotaTree::build() that `trees` is of; 0: none
  };

  FlavorUsers& users_of(FlavorId id);
  NodeId CohortNodeFor(const std::string& name);  // makes the node if it is missing
  void DropUnused(NodeId cohort);
  void Join(NodeId node, const std::string& cohort);
  void SetWeight(NodeId node, double weight);
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

  QuotaTree tree_;  // first member: aligned to cache lines
  queue::QueueSet& queues_;
  Vocabulary vocabulary_;
  TopologyPlacer placer_{vocabulary_};
  QueueTable cluster_queues_;
  CohortTable cohorts_;
  FlavorTable flavors_;
  CheckTable checks_;
  ChangeClock changes_;
  std::vector<FlavorUsers> users_of_flavors_;                           // by FlavorId
  std::map<std::string, std::vector<ClusterQueueId>> users_of_checks_;  // each sorted
  std::map<std::string, api::Topology> topologies_;
  std::vector<double> weights_;  // by node
};

}  // namespace berth::admission

// admission/cycle/cycle_preemptions.h — the preemptions of one cycle's entries, and the claims of
// entries that are not admitted in the cycle (they wait, for victims or for another reason).
//
// Preempted reservations hold quota and nodes until their pods have stopped. Later entries of the
// cycle are decided in two views of the cluster:
//
//     stopped   without the preempted reservations, with the claims
//     now       with the preempted reservations, without the claims
//
// Between two entries the claims count in the ClusterState. The quota of preempted reservations
// leaves the ClusterState at once, or inside what-ifs only where usage is compared: fair sharing
// (shares), and workloads that are given nodes anew. The nodes of preempted reservations leave the
// ClusterState inside what-ifs only.
//
// Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "admission/cluster_state.h"

namespace berth::admission {

class CyclePreemptions {
 public:
  enum class QuotaLeaves : std::uint8_t { kAtOnce, kInWhatIfs };
  struct Claim {
    NodeId leaf = kNoQuotaNode;
    Usage usage;                                     // the caller counts the usage in the tree
    const std::vector<PlacedPods>& placed;           // booked by the caller; outlives the cycle
    std::shared_ptr<const api::Workload> preemptor;  // null: the claim ends with the cycle
  };

  explicit CyclePreemptions(ClusterState& state) : state_(state) {}

  // Begins a cycle.
  void Begin(QuotaLeaves quota_leaves) {
    quota_leaves_at_once_ = quota_leaves == QuotaLeaves::kAtOnce;
  }
  // Ends a cycle.
  void Clear();
  void Add(const Reservation& preempted);
  void AddClaim(Claim claim);

  bool empty() const { return preempted_.empty(); }
  const std::vector<const Reservation*>& preempted() const { return preempted_; }
  // Whether a claim keeps nodes.
  bool claims_nodes() const { return !claims_of_nodes_.empty(); }

  // Inside a what-if: changes the state to the view `stopped` of the tree of `leaf`. Preempted
  // reservations of other trees leave nodes for every entry, but no quota.
  void ShowStopped(NodeId leaf);
  // Inside a what-if begun between two entries: changes the state to the view `now` of that tree.
  void ShowNow(NodeId leaf);

  // The usage of the queue's leaf while no preempted reservation has stopped.
  Amount UsageNow(ClusterQueueId queue, FlavorResourceId fr) const;
  // The first preemptor in the tree of `leaf` whose claim keeps a flavor-resource of `usage`; null:
  // none does.
  std::shared_ptr<const api::Workload> KeeperOf(NodeId leaf, const Usage& usage) const;

 private:
  struct OfRoot {
    std::vector<const Reservation*> preempted;
    std::vector<std::size_t> claims;  // indices in claims_
  };

  const OfRoot* Find(NodeId leaf) const;
  OfRoot& Get(NodeId leaf);

  ClusterState& state_;
  bool quota_leaves_at_once_ = false;
  std::vector<const Reservation*> preempted_;
  std::vector<Claim> claims_;
  std::vector<std::size_t> claims_of_nodes_;  // indices in claims_
  std::vector<OfRoot> of_root_;               // by node
  std::vector<NodeId> used_roots_;
  // The first claim in claims_ that a preemptor keeps, by root and flavor-resource.
  std::map<std::pair<NodeId, FlavorResourceId>, std::size_t> kept_;
};

}  // namespace berth::admission

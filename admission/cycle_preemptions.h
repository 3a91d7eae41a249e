// admission/cycle_preemptions.h — what the entries of one cycle preempt, and what entries claim
// that are not admitted in the cycle: they wait for their victims, or for something else.
//
// The preempted reservations still hold quota and nodes. The entries behind are decided in two
// views of the cluster:
//
//     stopped   the preempted reservations have gone, and claims count
//     now       the preempted reservations hold what is theirs, and claims take nothing yet
//
// Between two entries the claims count in the ClusterState. The quota of what was preempted leaves
// it at once, or only inside what-ifs where somebody compares what is used: fair sharing (shares),
// and workloads that are given nodes anew. Nodes leave it inside what-ifs only.
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
    Usage usage;                                     // counted in the tree by the caller
    const std::vector<PlacedPods>& placed;           // likewise on nodes; outlives the cycle
    std::shared_ptr<const api::Workload> preemptor;  // that keeps it until then; null: nobody
  };

  explicit CyclePreemptions(ClusterState& state) : state_(state) {}

  // For the entries of another cycle.
  void Begin(QuotaLeaves quota_leaves) {
    quota_leaves_at_once_ = quota_leaves == QuotaLeaves::kAtOnce;
  }
  // At the end of a cycle.
  void Clear();
  void Add(const Reservation& preempted);
  void AddClaim(Claim claim);

  bool empty() const { return preempted_.empty(); }
  const std::vector<const Reservation*>& preempted() const { return preempted_; }

  // Inside a what-if: makes the state what is `stopped` for the tree of `leaf`. Those of other
  // trees leave nodes to everybody, but no quota.
  void ShowStopped(NodeId leaf);
  // Inside a what-if, from the state between two entries: makes it what is `now` for that tree.
  void ShowNow(NodeId leaf);

  // The usage of the queue's leaf as long as none of what was preempted has stopped.
  Amount UsageNow(ClusterQueueId queue, FlavorResourceId fr) const;
  // The first preemptor of the tree of `leaf` that keeps some of the flavor-resources of `usage`;
  // null: nobody does.
  std::shared_ptr<const api::Workload> KeeperOf(NodeId leaf, const Usage& usage) const;

 private:
  struct OfRoot {
    std::vector<const Reservation*> preempted;
    std::vector<std::size_t> claims;  // in claims_
  };

  const OfRoot* Find(NodeId leaf) const;
  OfRoot& Get(NodeId leaf);

  ClusterState& state_;
  bool quota_leaves_at_once_ = false;
  std::vector<const Reservation*> preempted_;
  std::vector<Claim> claims_;
  std::vector<std::size_t> claims_of_nodes_;  // in claims_
  std::vector<OfRoot> of_root_;               // by node
  std::vector<NodeId> used_roots_;
  // By root and flavor-resource: the first claim in claims_ that a preemptor keeps.
  std::map<std::pair<NodeId, FlavorResourceId>, std::size_t> kept_;
};

}  // namespace berth::admission

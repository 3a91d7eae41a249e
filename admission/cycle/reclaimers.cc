#include "admission/cycle/reclaimers.h"

#include <algorithm>
#include <limits>

namespace berth::admission {
namespace {

constexpr std::int64_t kAnyPriority = std::numeric_limits<std::int64_t>::max();

// The priority below which workloads of at most `priority` may reclaim from others.
std::int64_t ReclaimsBelow(api::PreemptionPolicy policy, std::int64_t priority) {
  switch (policy) {
    case api::PreemptionPolicy::kAny: return kAnyPriority;
    case api::PreemptionPolicy::kLowerPriority: return priority;
    case api::PreemptionPolicy::kLowerOrNewerEqualPriority: return priority + 1;
    case api::PreemptionPolicy::kNever: break;
  }
  return std::numeric_limits<std::int64_t>::min();
}

void KeepFromLater(Usage& wanted, FlavorResourceId fr) {
  for (FlavorResourceAmount& item : wanted) {
    if (item.flavor_resource == fr) item.amount = std::numeric_limits<Amount>::max();
  }
}

}  // namespace

void Reclaimers::Add(const QueueState& queue, std::int64_t priority) {
  const QuotaTree& tree = state_.tree();
  const std::int64_t below = ReclaimsBelow(queue.spec.preemption.reclaim_within_cohort, priority);
  NodeId node = queue.node;
  for (NodeId cohort = tree.parent(node); cohort != kNoQuotaNode; cohort = tree.parent(node)) {
    Members& members = members_[cohort];
    if (node == queue.node && below == kAnyPriority) {
      members.queues.push_back(node);
      for (FlavorResourceAmount& known : members.wanted) {
        known.amount = api::AddAmounts(known.amount, FreeOf(node, known.flavor_resource));
      }
    } else {
      std::int64_t& known = members.others.try_emplace(node, below).first->second;
      known = std::max(known, below);
    }
    node = cohort;
  }
}

// The quota of the node that the node has lent to others, or would lend, and may use itself.
Amount Reclaimers::FreeOf(NodeId node, FlavorResourceId fr) const {
  const QuotaCell& amounts = state_.tree().AmountsOf(node, fr);
  const Amount kept = std::max(amounts.usage, amounts.local);
  return std::max<Amount>(0, api::SubtractAmounts(amounts.subtree, kept));
}

// The free quota of the cohort's members but `except` that may preempt a workload of the priority.
Amount Reclaimers::WantedIn(NodeId cohort, NodeId except, FlavorResourceId fr,
                            std::int64_t priority) {
  const auto found = members_.find(cohort);
  if (found == members_.end()) return 0;
  Members& members = found->second;
  auto known = std::find_if(members.wanted.begin(), members.wanted.end(),
                            [fr](const auto& item) { return item.flavor_resource == fr; });
  if (known == members.wanted.end()) {
    Amount sum = 0;
    for (const NodeId node : members.queues) sum = api::AddAmounts(sum, FreeOf(node, fr));
    members.wanted.push_back({fr, sum});
    known = members.wanted.end() - 1;
  }
  Amount wanted = known->amount;
  const std::vector<NodeId>& queues = members.queues;
  if (std::find(queues.begin(), queues.end(), except) != queues.end()) {
    wanted = api::SubtractAmounts(wanted, FreeOf(except, fr));
  }
  for (const auto& [node, below] : members.others) {
    if (node != except && priority < below) wanted = api::AddAmounts(wanted, FreeOf(node, fr));
  }
  return wanted;
}

bool Reclaimers::WouldPreempt(const CycleEntry& entry) {
  const QuotaTree& tree = state_.tree();
  const NodeId leaf = state_.queue(entry.decision.cluster_queue).node;
  const std::int64_t priority = entry.input.workload->priority;
  for (const FlavorResourceAmount& item : entry.decision.assignment.usage) {
    const FlavorResourceId fr = item.flavor_resource;
    NodeId node = leaf;
    Amount more = item.amount;
    // A node within its quota gives nothing back, nor does any node below.
    while (more > 0 && tree.AmountsOf(node, fr).BorrowingWith(more)) {
      const NodeId cohort = tree.parent(node);
      if (cohort == kNoQuotaNode) break;
      // The cohort lends the rest.
      more = api::SubtractAmounts(more, tree.AmountsOf(node, fr).LocalAvailable());
      const Amount wanted = WantedIn(cohort, node, fr, priority);
      if (wanted > 0 && api::SubtractAmounts(tree.Available(cohort, fr), more) < wanted) {
        KeepFromLater(members_[cohort].wanted, fr);
        return true;
      }
      node = cohort;
    }
  }
  return false;
}

}  // namespace berth::admission

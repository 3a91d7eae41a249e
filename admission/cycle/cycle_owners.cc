#include "admission/cycle/cycle_owners.h"

#include <algorithm>
#include <limits>

namespace berth::admission {
namespace {

constexpr std::int64_t kWithTheHead = 1;
constexpr std::int64_t kAnyPriority = std::numeric_limits<std::int64_t>::max();

// The priority below which the workloads behind the head may reclaim from others: the head comes
// first in its queue, and has the highest priority there.
std::int64_t ReclaimsBelow(api::PreemptionPolicy policy, std::int64_t of_head) {
  switch (policy) {
    case api::PreemptionPolicy::kAny: return kAnyPriority;
    case api::PreemptionPolicy::kLowerPriority: return of_head;
    case api::PreemptionPolicy::kLowerOrNewerEqualPriority: return of_head + 1;
    case api::PreemptionPolicy::kNever: break;
  }
  return std::numeric_limits<std::int64_t>::min();
}

// No later borrower of the cycle takes the quota instead.
void KeepFromLater(Usage& wanted, FlavorResourceId fr) {
  for (FlavorResourceAmount& item : wanted) {
    if (item.flavor_resource == fr) item.amount = std::numeric_limits<Amount>::max();
  }
}

}  // namespace

void CycleOwners::Begin(std::int64_t number, const std::vector<CycleEntry>& entries) {
  number_ = number;
  entries_ = &entries;
}

void CycleOwners::Clear() {
  entries_ = nullptr;
  owners_.clear();
  added_ = 0;
  looked_at_parked_ = false;
  members_.clear();
}

void CycleOwners::NoteAdmitted(const CycleEntry& entry) {
  if (!context_.own_rules.owners_before_borrowers) return;
  if (entry.decision.second_pass || entry.decision.assignment.borrow_height > 0) return;
  const ClusterQueueId id = entry.decision.cluster_queue;
  if (context_.state.queue(id).spec.preemption.reclaim_within_cohort ==
      api::PreemptionPolicy::kNever) {
    return;
  }
  if (context_.queues.waiting(id).active_count() > kWithTheHead) owners_.push_back(&entry);
}

// Whether the entry cannot be admitted, and leaves its place to the next workload of the queue.
bool CycleOwners::MovesOn(const CycleEntry& entry) const {
  const Assignment& assignment = entry.decision.assignment;
  const bool in_vain = assignment.mode == AssignmentMode::kNoFit ||
                       (assignment.mode == AssignmentMode::kPreempt && entry.targets.empty());
  if (!in_vain || entry.decision.second_pass || assignment.scan.HasPendingFlavors()) return false;
  const ClusterQueueId id = entry.decision.cluster_queue;
  const api::ClusterQueueSpec& spec = context_.state.queue(id).spec;
  return spec.queueing_strategy == api::QueueingStrategy::kBestEffortFifo &&
         spec.preemption.reclaim_within_cohort != api::PreemptionPolicy::kNever &&
         context_.queues.waiting(id).active_count() > kWithTheHead;
}

void CycleOwners::Add(const CycleEntry& owner) {
  const QueueState& queue = context_.state.queue(owner.decision.cluster_queue);
  const QuotaTree& tree = context_.state.tree();
  const std::int64_t below =
      ReclaimsBelow(queue.spec.preemption.reclaim_within_cohort, owner.input.workload->priority);
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

void CycleOwners::AddNew() {
  if (!looked_at_parked_) {
    looked_at_parked_ = true;
    for (const CycleEntry& entry : *entries_) {
      if (MovesOn(entry)) Add(entry);
    }
  }
  for (; added_ < owners_.size(); ++added_) Add(*owners_[added_]);
}

// The quota of the node that the node has lent to others, or would lend, and may use itself.
Amount CycleOwners::FreeOf(NodeId node, FlavorResourceId fr) const {
  const QuotaTree& tree = context_.state.tree();
  const QuotaCell& amounts = tree.AmountsOf(node, fr);
  const Amount kept = std::max(amounts.usage, amounts.local);
  return std::max<Amount>(0, api::SubtractAmounts(amounts.subtree, kept));
}

// The free quota of the cohort's members that move on and may preempt a workload of the priority.
Amount CycleOwners::WantedIn(NodeId cohort, NodeId except, FlavorResourceId fr,
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
  for (const auto& [node, below] : members.others) {
    if (node != except && priority < below) wanted = api::AddAmounts(wanted, FreeOf(node, fr));
  }
  return wanted;
}

bool CycleOwners::WouldBeReclaimed(const CycleEntry& entry) {
  const QuotaTree& tree = context_.state.tree();
  const NodeId leaf = context_.state.queue(entry.decision.cluster_queue).node;
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

// Counts a cycle that holds the entry back; returns whether it may.
bool CycleOwners::CountHeld(const CycleEntry& entry) {
  Held& held = held_back_[entry.decision.cluster_queue];
  const bool in_a_row = held.workload == entry.decision.workload && held.cycle == number_ - 1;
  if (in_a_row && held.count == kMostCycles) return false;
  held = {entry.decision.workload, number_, in_a_row ? held.count + 1 : 1};
  return true;
}

bool CycleOwners::GoBefore(const CycleEntry& entry) {
  if (entry.decision.second_pass || entry.GoesFirst()) return false;
  if (entry.decision.assignment.borrow_height == 0) return false;
  if (!context_.own_rules.owners_before_borrowers) return false;
  AddNew();
  return !members_.empty() && WouldBeReclaimed(entry) && CountHeld(entry);
}

}  // namespace berth::admission

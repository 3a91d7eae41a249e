#include "admission/cycle/cycle_owners.h"

namespace berth::admission {
namespace {

constexpr std::int64_t kWithTheHead = 1;

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
  reclaimers_.Clear();
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

// The head comes first in its queue, and has the highest priority there.
void CycleOwners::Add(const CycleEntry& owner) {
  reclaimers_.Add(context_.state.queue(owner.decision.cluster_queue),
                  owner.input.workload->priority);
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
  return !reclaimers_.empty() && reclaimers_.WouldPreempt(entry) && CountHeld(entry);
}

}  // namespace berth::admission

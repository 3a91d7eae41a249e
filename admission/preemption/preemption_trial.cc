#include "admission/preemption/preemption_trial.h"

#include <algorithm>
#include <utility>

namespace berth::admission {

bool PreemptionTrial::Fits(Borrowing borrowing) const {
  const QuotaTree& tree = state_.tree();
  const PreemptionRequest& request = candidates_.request();
  const NodeId leaf = candidates_.queue().node;
  for (const FlavorResourceAmount& item : request.usage) {
    if (borrowing == Borrowing::kForbidden &&
        tree.AmountsOf(leaf, item.flavor_resource).BorrowingWith(item.amount)) {
      return false;
    }
    if (item.amount > tree.Available(leaf, item.flavor_resource)) return false;
  }
  if (request.placements.empty()) return true;
  return !state_.placer()
              .Place(*request.workload->object, request.placements, CountKey::Usage::kAsUsed)
              .failure;
}

void PreemptionTrial::PutBackUnneeded(Borrowing borrowing) {
  if (candidates_.by_work()) return PutBackDearest(borrowing);
  for (std::size_t i = targets_.size() - 1; i-- > 0;) {
    state_.PutBack(*targets_[i].reservation);
    if (!Fits(borrowing)) {
      state_.TakeOut(*targets_[i].reservation);
      continue;
    }
    candidates_.Spare(*targets_[i].reservation, SparedCandidate::Cause::kNotNeeded);
    targets_[i] = targets_.back();
    targets_.pop_back();
  }
}

// From the one that loses the most work on, the lowest priorities last.
void PreemptionTrial::PutBackDearest(Borrowing borrowing) {
  std::stable_sort(targets_.begin(), targets_.end(), [this](const auto& a, const auto& b) {
    if (a.reservation->priority != b.reservation->priority) {
      return a.reservation->priority > b.reservation->priority;
    }
    return candidates_.WorkLost(*a.reservation) > candidates_.WorkLost(*b.reservation);
  });
  PreemptionTargets needed;
  for (const PreemptionTarget& target : targets_) {
    state_.PutBack(*target.reservation);
    if (Fits(borrowing)) {
      candidates_.Spare(*target.reservation, SparedCandidate::Cause::kNotNeeded);
      continue;
    }
    state_.TakeOut(*target.reservation);
    needed.push_back(target);
  }
  targets_ = std::move(needed);
}

}  // namespace berth::admission

#include "admission/preemption/preemption_trial.h"

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

}  // namespace berth::admission

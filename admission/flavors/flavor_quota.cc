#include "admission/flavors/flavor_quota.h"

#include "admission/quota/quota_room.h"

namespace berth::admission {

bool FlavorQuota::CanPreemptWhileBorrowing() const {
  const api::QueuePreemption& preemption = queue_.spec.preemption;
  return preemption.borrow_within_cohort != api::PreemptionPolicy::kNever ||
         (fair_sharing_ && preemption.reclaim_within_cohort != api::PreemptionPolicy::kNever);
}

QuotaAnswer FlavorQuota::Ask(const QuotaDemand& demand, SmallVector<Obstacle, 1>& obstacles) const {
  const FlavorResourceId fr = demand.flavor_resource;
  const Amount total = demand.Total();
  const auto note = [&](Obstacle::Kind kind, Amount limit) {
    Obstacle& obstacle = obstacles.emplace_back();
    obstacle.kind = kind;
    obstacle.resource = demand.resource;
    obstacle.flavor = demand.flavor;
    obstacle.assumed = demand.assumed;
    obstacle.requested = demand.request;
    obstacle.limit = limit;
  };
  const Amount potential = tree_.Potential(queue_.node, fr);
  if (total > potential) {
    note(Obstacle::Kind::kExceedsMaximum, potential);
    return {{FlavorRating::kNoFit, 0}, NoFitReason::kExceedsMaxQuota};
  }
  QuotaAnswer answer;
  const Lender lender = LowestSubtreeThatFits(tree_, queue_.node, fr, total);
  const Amount available = tree_.Available(queue_.node, fr);
  answer.mode.borrow_height = lender.height;
  if (total <= available) {
    answer.mode.rating = FlavorRating::kFit;
    return answer;
  }
  note(Obstacle::Kind::kInsufficientQuota, available);
  if (tree_.AmountsOf(queue_.node, fr).nominal < total && !lender.below_root &&
      !CanPreemptWhileBorrowing()) {
    answer.mode.rating = FlavorRating::kNoFit;
    answer.no_fit_reason = NoFitReason::kWaitingForQuota;
    return answer;
  }
  const PreemptionOracle::Answer simulated = oracle_.Simulate(fr, total);
  answer.mode.borrow_height = simulated.borrow_height;
  answer.mode.rating = RatingOf(simulated.possibility);
  return answer;
}

}  // namespace berth::admission

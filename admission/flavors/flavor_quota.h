// admission/flavors/flavor_quota.h — whether the quota of one flavor suffices for one resource: at
// once, by borrowing, or once preempted workloads have stopped.
//
// Threads: one. Errors: none; a demand that does not fit is an answer with obstacles.
// Units: amounts of the resource's smallest unit; borrow heights in levels of the cohort tree.
// Source: Kueue pkg/scheduler/flavorassigner (fitsResourceQuota), KEP-79.
#pragma once

#include <cstdint>

#include "admission/catalogue/catalogue.h"
#include "admission/decision.h"
#include "admission/flavors/flavor_mode.h"
#include "admission/quota/quota_tree.h"
#include "base/small_vector.h"

namespace berth::admission {

// Says whether preemption can free `amount` of one flavor-resource, and how far the queue would
// borrow afterwards. The preemption search implements this interface.
class PreemptionOracle {
 public:
  struct Answer {
    PreemptionPossibility possibility = PreemptionPossibility::kNoCandidates;
    std::int32_t borrow_height = 0;
  };
  virtual ~PreemptionOracle() = default;
  virtual Answer Simulate(FlavorResourceId flavor_resource, Amount amount) = 0;
};

// A request of a pod-set group for one flavor-resource.
struct QuotaDemand {
  FlavorResourceId flavor_resource = -1;
  ResourceId resource = -1;
  FlavorId flavor = -1;
  Amount assumed = 0;  // requested by earlier groups of the workload
  Amount request = 0;

  Amount Total() const { return api::AddAmounts(assumed, request); }
};
struct QuotaAnswer {
  FlavorMode mode;
  NoFitReason no_fit_reason = NoFitReason::kNone;
};

class FlavorQuota {
 public:
  // All must outlive the object.
  FlavorQuota(const QuotaTree& tree, const QueueState& queue, bool fair_sharing,
              PreemptionOracle& oracle)
      : tree_(tree), queue_(queue), oracle_(oracle), fair_sharing_(fair_sharing) {}

  // Appends the reasons that stand against the flavor.
  QuotaAnswer Ask(const QuotaDemand& demand, SmallVector<Obstacle, 1>& obstacles) const;

 private:
  bool CanPreemptWhileBorrowing() const;

  const QuotaTree& tree_;
  const QueueState& queue_;
  PreemptionOracle& oracle_;
  bool fair_sharing_;
};

}  // namespace berth::admission

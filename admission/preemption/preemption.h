// admission/preemption/preemption.h — searches preemption targets, so that one workload fits.
//
//     PreemptionSearch ─▶ candidates   which reservations may be taken  preemption_candidates.h
//                      ─▶ strategy     in which order they are taken    classical_preemption.h,
//                                                                       fair_preemption.h
//                      ─▶ trial        whether the workload fits then   preemption_trial.h
//
// A search is a what-if on quota and nodes, rolled back before the answer.
//
// Threads: one. Errors: none; an empty list of targets is an answer.
// Source: Kueue KEP-83, KEP-1337, KEP-1714, pkg/scheduler/preemption.
#pragma once

#include <cstdint>
#include <optional>

#include "admission/cluster_state.h"
#include "admission/decision.h"
#include "admission/feature_gates.h"
#include "admission/flavors/flavor_quota.h"
#include "admission/preemption/classical_preemption.h"
#include "admission/preemption/fair_preemption.h"
#include "admission/preemption/preemption_candidates.h"
#include "admission/preemption/preemption_trial.h"
#include "admission/quota/dominant_share.h"
#include "admission/quota/usage_ledger.h"

namespace berth::admission {

class PreemptionSearch {
 public:
  PreemptionSearch(ClusterState& state, const FeatureGates& gates,
                   const std::optional<FairSharing>& fair_sharing);
  PreemptionSearch(const PreemptionSearch&) = delete;
  PreemptionSearch& operator=(const PreemptionSearch&) = delete;

  // Returns targets; empty: no set of candidates makes enough room. Appends the first candidates
  // that were not taken to `spared` if that is not null.
  PreemptionTargets Find(const PreemptionRequest& request, SparedCandidates* spared);

  // Returns those of `victims`, all of them evicted, that have to stop before the request fits;
  // empty: the request does not fit even without all of them.
  PreemptionTargets Keep(const PreemptionRequest& request,
                         const SmallVector<WorkloadId, 2>& victims);

  // See PreemptionCandidates::Exclude.
  void Exclude(const Reservation& reservation) { candidates_.Exclude(reservation); }
  void ExcludeNone() { candidates_.ExcludeFirst(0); }
  void ExcludeFirst(std::size_t count) { candidates_.ExcludeFirst(count); }
  std::size_t excluded_count() const { return candidates_.excluded_count(); }
  bool IsExcluded(const Reservation& reservation) const {
    return candidates_.IsExcluded(reservation);
  }
  void UseLedger(const UsageLedger* ledger) { candidates_.UseLedger(ledger); }
  void UseRules(VictimRules* rules) { candidates_.UseRules(rules); }

  DominantShares& shares() { return shares_; }

 private:
  ClusterState& state_;
  DominantShares shares_;
  PreemptionCandidates candidates_;
  PreemptionTrial trial_;
  ClassicalPreemption classical_;
  std::optional<FairPreemption> fair_;  // set with fair sharing
};

// The oracle of one workload: answers by searching targets.
class WorkloadOracle : public PreemptionOracle {
 public:
  WorkloadOracle(PreemptionSearch& search, ClusterState& state, const queue::WorkloadInfo& workload,
                 ClusterQueueId queue)
      : search_(search), state_(state), workload_(workload), queue_(queue) {}

  Answer Simulate(FlavorResourceId flavor_resource, Amount amount) override;

  // The targets for `request`: those of the last Simulate if it had the same request.
  PreemptionTargets Targets(const PreemptionRequest& request, SparedCandidates* spared);

 private:
  PreemptionSearch& search_;
  ClusterState& state_;
  const queue::WorkloadInfo& workload_;
  ClusterQueueId queue_;
  struct Memory {
    PreemptionRequest request;
    std::uint64_t version = 0;
    PreemptionTargets targets;
    SparedCandidates spared;
  };
  std::optional<Memory> last_;
};

}  // namespace berth::admission

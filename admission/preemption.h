// admission/preemption.h — whom to preempt so that one workload fits.
//
//     PreemptionSearch ─▶ candidates   which reservations may go admission/preemption_candidates.h
//                      ─▶ strategy     in which order they go      classical_preemption.h,
//                                                                  fair_preemption.h
//                      ─▶ trial        does the workload fit then  admission/preemption_trial.h
//
// Everything is a what-if on quota and nodes, rolled back before returning.
//
// Threads: one. Errors: none; nobody to take is an answer.
// Source: Kueue KEP-83, KEP-1337, KEP-1714, pkg/scheduler/preemption.
#pragma once

#include <cstdint>
#include <optional>

#include "admission/classical_preemption.h"
#include "admission/cluster_state.h"
#include "admission/decision.h"
#include "admission/dominant_share.h"
#include "admission/fair_preemption.h"
#include "admission/feature_gates.h"
#include "admission/flavor_assigner.h"
#include "admission/preemption_candidates.h"
#include "admission/preemption_trial.h"
#include "admission/usage_ledger.h"

namespace berth::admission {

class PreemptionSearch {
 public:
  PreemptionSearch(ClusterState& state, const FeatureGates& gates,
                   const std::optional<FairSharing>& fair_sharing);
  PreemptionSearch(const PreemptionSearch&) = delete;
  PreemptionSearch& operator=(const PreemptionSearch&) = delete;

  // Empty: nobody can make enough room. The first candidates that were looked at and not taken go
  // to `spared` if that is not null.
  PreemptionTargets Find(const PreemptionRequest& request, SparedCandidates* spared);

  // Those of `victims`, on their way out already, that still have to go until the request fits;
  // empty: it does not even when all have gone.
  PreemptionTargets Keep(const PreemptionRequest& request,
                         const SmallVector<WorkloadId, 2>& victims);

  // See PreemptionCandidates.
  void Exclude(const Reservation& reservation) { candidates_.Exclude(reservation); }
  void ExcludeNone() { candidates_.ExcludeFirst(0); }
  void ExcludeFirst(std::size_t count) { candidates_.ExcludeFirst(count); }
  std::size_t excluded_count() const { return candidates_.excluded_count(); }
  bool IsExcluded(const Reservation& reservation) const {
    return candidates_.IsExcluded(reservation);
  }
  void UseLedger(const UsageLedger* ledger) { candidates_.UseLedger(ledger); }

  DominantShares& shares() { return shares_; }

 private:
  ClusterState& state_;
  DominantShares shares_;
  PreemptionCandidates candidates_;
  PreemptionTrial trial_;
  ClassicalPreemption classical_;
  std::optional<FairPreemption> fair_;  // with fair sharing
};

// Asks the search for one workload.
class WorkloadOracle : public PreemptionOracle {
 public:
  WorkloadOracle(PreemptionSearch& search, ClusterState& state, const queue::WorkloadInfo& workload,
                 ClusterQueueId queue)
      : search_(search), state_(state), workload_(workload), queue_(queue) {}

  Answer Simulate(FlavorResourceId flavor_resource, Amount amount) override;

  // The targets for `request`; what the last Simulate found, where it asked for the same.
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

// admission/preemption/preemption_trial.h — a what-if of preemption: candidates are taken out of
// the cluster's state until the workload fits; then, from the last to the first, each candidate is
// put back whose quota the workload does not need.
//
// The caller begins a what-if of ClusterState, and rolls back afterwards.
//
// Threads: one. Errors: none.
// Source: Kueue pkg/scheduler/preemption (fillBackWorkloads, workloadFits).
#pragma once

#include "admission/cluster_state.h"
#include "admission/decision.h"
#include "admission/preemption/preemption_candidates.h"

namespace berth::admission {

struct PreemptionTarget {
  const Reservation* reservation = nullptr;
  PreemptionReason reason = PreemptionReason::kInClusterQueue;
};

using PreemptionTargets = SmallVector<PreemptionTarget, 2>;

enum class Borrowing : std::uint8_t { kAllowed, kForbidden };

class PreemptionTrial {
 public:
  PreemptionTrial(ClusterState& state, PreemptionCandidates& candidates)
      : state_(state), candidates_(candidates) {}

  void Clear() { targets_.clear(); }
  // Takes the candidate out of the state.
  void Take(const Reservation& candidate, PreemptionReason reason) {
    state_.TakeOut(candidate);
    targets_.push_back({&candidate, reason});
  }
  // Whether the workload of the candidates' request fits the present state.
  bool Fits(Borrowing borrowing) const;
  // Puts back the candidates that the workload, which fits, does not need.
  void PutBackUnneeded(Borrowing borrowing);
  const PreemptionTargets& targets() const { return targets_; }

 private:
  void PutBackDearest(Borrowing borrowing);

  ClusterState& state_;
  PreemptionCandidates& candidates_;
  PreemptionTargets targets_;
};

}  // namespace berth::admission

// admission/preemption/preemption_plans.h — the plans of preemptors, which last from cycle to cycle
// (OwnRules::preemptor_keeps_what_it_freed): a plan keeps the victims, and the quota and nodes that
// they have freed, for the preemptor.
//
//     Preempting ──Keep──▶ plan ──Fit──▶ admitted
//                            │ no victim has released quota for the timeout
//                            └──EndWithoutProgress──▶ pause, which doubles with each such plan
//
// Threads: one. Errors: none.
#pragma once

#include <cstdint>

#include "admission/cluster_state.h"
#include "admission/decision.h"
#include "admission/own_rules.h"
#include "admission/preemption/preemption_history.h"
#include "admission/wake_requests.h"
#include "admission/workloads/workload_records.h"
#include "base/clock.h"

namespace berth::admission {

class PreemptionPlans {
 public:
  struct Context {
    const ClusterState& state;
    const OwnRules& own_rules;
    Duration timeout;  // SchedulerConfig::plan_timeout
    PreemptionHistory& history;
    WakeRequests& wakes;
  };
  explicit PreemptionPlans(const Context& context) : context_(context) {}

  // Takes the plan of a decision that gave no quota.
  void Keep(WorkloadRecord& kept, const Decision& decision, WallTime now);
  // Ends the plan of `head`, or notes its progress. Precondition: `head` has a plan.
  void EndWithoutProgress(WorkloadRecord& head, ClusterQueueId queue, WallTime now);
  static void Forget(WorkloadRecord& changed);

  // The amounts that the plan's victims still hold while they are being evicted, summed over
  // resources.
  Amount HeldByVictims(const PreemptionPlan& plan) const;
  // The pause after a plan without progress, preceded by `count` such plans.
  Duration PauseAfter(int count) const;
  // Call when the plan or the pause of the workload has changed, so that it is written on the
  // Workload again.
  void Changed(WorkloadRecord& changed) { changed.plan_version = ++versions_; }

 private:
  void Make(WorkloadRecord& kept, const Decision& decision, WallTime now);

  const Context context_;
  std::uint64_t versions_ = 0;
};

}  // namespace berth::admission

// admission/preemption/kept_plans.h — writes a preemptor's plan, with names, for its Workload, and
// restores plans from Workloads.
//
// Tenants may write annotations, so the restored plan is bounded by facts that tenants cannot
// write: the workload must wait as when the plan was written, the plan must be younger than the
// plan timeout, and a victim's condition Preempted must name the workload. A forged plan gains
// precedence until the plan timeout, for requests that spec and queue allow, with victims that are
// stopping already, and keeps no more from higher priorities than its own requests.
//
// Threads: one. Errors: none; what is not consistent with the state is left out.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/own_rules.h"
#include "admission/preemption/kept_plan.h"
#include "admission/preemption/preemption_plans.h"
#include "admission/workloads/workload_records.h"
#include "queue/queue_set.h"

namespace berth::admission {

class KeptPlans {
 public:
  struct Context {
    const ClusterState& state;
    const OwnRules& own_rules;
    Duration timeout;  // SchedulerConfig::plan_timeout
    queue::QueueSet& queues;
    WorkloadRecords& records;
    PreemptionPlans& plans;
  };
  explicit KeptPlans(const Context& context) : context_(context) {}

  // The part of the workload's plan to write on the Workload, for the next scheduler; nullopt:
  // none. `object`: the Workload as it is written.
  std::optional<KeptPlan> ToKeep(const api::Workload& object) const;
  // nullopt: ToKeep returns nullopt.
  std::optional<PlanStamp> StampOf(const api::Workload& object) const;
  // Continues plans that another scheduler has written, as far as they are consistent with the
  // state. Call after all objects have been applied, before the first cycle.
  void Restore(const std::vector<std::pair<api::ObjectKey, KeptPlan>>& kept, WallTime now);

 private:
  void RestoreOne(WorkloadId id, const KeptPlan& kept, const std::vector<WorkloadId>& victims,
                  WallTime now);
  void RestorePause(WorkloadRecord& restored, const KeptPlan& kept, WallTime now);
  std::optional<Assignment> AssignmentOf(const KeptPlan& kept, const queue::WorkloadInfo& info,
                                         ClusterQueueId queue) const;
  void RestoreFreed(PreemptionPlan& plan, const KeptPlan& kept, WorkloadId victim,
                    Usage& unproven) const;

  const Context context_;
};

}  // namespace berth::admission

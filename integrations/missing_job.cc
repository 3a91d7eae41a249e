// The plan for Workloads whose job does not exist.
#include "api/labels.h"
#include "api/reasons.h"
#include "integrations/action_plan.h"
#include "integrations/slice_plan.h"
#include "integrations/workload_build.h"

namespace berth::integrations {

SetWorkloadCondition EndedWithoutOwner(const api::Workload& workload, WallTime now) {
  return FinishedBecause(workload, api::kOwnerNotFound, "The workload's owner no longer exists",
                         now);
}

JobPlan PlanMissingJob(const std::vector<api::Workload>& workloads, WallTime now) {
  JobPlan plan;
  for (const api::Workload& workload : workloads) {
    const bool has_parent =
        ParentOfPods(workload.meta) != nullptr || LostParentOf(workload.meta).has_value();
    const bool lives = !workload.meta.deletion_timestamp &&
                       !api::IsTrue(workload.status.conditions, api::kFinished);
    if (has_parent && lives) continue;
    if (lives && api::ControllerOf(workload.meta) != nullptr) {
      plan.actions.emplace_back(EndedWithoutOwner(workload, now));
    }
    if (api::HasFinalizer(workload.meta, api::kResourceInUseFinalizer)) {
      plan.actions.emplace_back(RemoveWorkloadFinalizer{workload.meta.key()});
    }
  }
  return plan;
}

}  // namespace berth::integrations

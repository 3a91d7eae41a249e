// The plan for Workloads whose job does not exist.
#include "api/labels.h"
#include "api/reasons.h"
#include "integrations/job_plan.h"
#include "integrations/workload_build.h"

namespace berth::integrations {

JobPlan PlanMissingJob(const std::vector<api::Workload>& workloads) {
  JobPlan plan;
  for (const api::Workload& workload : workloads) {
    const bool has_parent =
        ParentOfPods(workload.meta) != nullptr || LostParentOf(workload.meta).has_value();
    const bool waits = has_parent && !workload.meta.deletion_timestamp &&
                       !api::IsTrue(workload.status.conditions, api::kFinished);
    if (!waits && api::HasFinalizer(workload.meta, api::kResourceInUseFinalizer)) {
      plan.actions.emplace_back(RemoveWorkloadFinalizer{workload.meta.key()});
    }
  }
  return plan;
}

}  // namespace berth::integrations

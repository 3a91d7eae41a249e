// The plans for jobs that stay as they are.
#include "integrations/action_plan.h"
#include "integrations/workload_build.h"

namespace berth::integrations {

JobPlan PlanSkippedJob(const JobSituation& situation) {
  const JobView& job = situation.job;
  JobPlan plan;
  if (!job.is_delegated || QueueNameOf(job).empty() || situation.ancestor || job.finished ||
      job.meta.deletion_timestamp) {
    return plan;
  }
  plan.actions.emplace_back(
      EmitEvent{EmitEvent::Type::kWarning, "ManagedByMultiKueue",
                "the field managedBy names MultiKueue, which Berth does not have: the job is not "
                "queued; create it without the field",
                ""});
  return plan;
}

JobPlan PlanNestedJob() {
  JobPlan plan;
  plan.actions.emplace_back(EmitEvent{EmitEvent::Type::kWarning, "JobNestingTooDeep",
                                      "Terminated search for Kueue-managed Job because ancestor "
                                      "depth exceeded limit of 10",
                                      ""});
  return plan;
}

}  // namespace berth::integrations

#include "view/screens/deadline_line.h"

#include "api/deadline.h"
#include "api/reasons.h"
#include "base/rfc3339.h"
#include "view/screens/eta_cell.h"

namespace berth::view {
namespace {

// What became of the deadline of a Workload that has ended.
std::string Outcome(const api::Condition& finished, WallTime deadline) {
  const Duration late = finished.last_transition_time - deadline;
  if (finished.reason != api::kSucceeded) return "missed: the job failed";
  return late > Duration::zero() ? "the job ended " + HumanDuration(late) + " after it" : "kept";
}

// What the declared maximum says where no forecast does.
std::string ByMaximum(const ClusterView& view, const api::Workload& workload, WallTime deadline) {
  const auto& declared = workload.spec.maximum_execution_time_seconds;
  if (!declared) return "";
  const api::Condition* admitted = api::FindCondition(workload.status.conditions, api::kAdmitted);
  const WallTime latest = deadline - std::chrono::seconds(*declared);
  if (IsRunning(workload) && admitted != nullptr) {
    return admitted->last_transition_time <= latest ? "; the job ends by then at the latest"
                                                    : "; in danger: the job may run for longer";
  }
  return latest < view.now
             ? "; in danger: the job may run for " + HumanDuration(std::chrono::seconds(*declared))
             : "; the latest start for its maximum is " + FormatTime(latest);
}

}  // namespace

std::string DeadlineLine(const ClusterView& view, const api::Workload& workload) {
  const auto deadline = api::DeadlineOf(workload.meta.annotations);
  if (!deadline) return "";
  std::string line = "deadline " + FormatTime(*deadline);
  const api::Condition* finished = api::FindCondition(workload.status.conditions, api::kFinished);
  if (finished != nullptr && finished->status == api::ConditionStatus::kTrue) {
    return line + ": " + Outcome(*finished, *deadline);
  }
  const Duration left = *deadline - view.now;
  if (left <= Duration::zero()) return line + ": missed " + HumanDuration(-left) + " ago";
  line += ", in " + HumanDuration(left);
  const auto forecast = ForecastOf(view, workload);
  if (!forecast || !forecast->in_time) return line + ByMaximum(view, workload, *deadline);
  return line + ": kept in " + std::to_string(*forecast->in_time) +
         " of 100 futures (forecast of " + HumanDuration(view.now - forecast->at) + " ago)";
}

}  // namespace berth::view

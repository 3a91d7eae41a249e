#include "integrations/controller/unseen_starts.h"

#include <algorithm>
#include <utility>

namespace berth::integrations {

void UnseenStarts::Expect(const JobState& job, const JobPlan& plan) {
  const auto& actions = plan.actions;
  const auto start = std::find_if(actions.begin(), actions.end(), [](const JobAction& action) {
    return std::holds_alternative<StartJob>(action);
  });
  // The writes to pods are read again where they fail (job_pods.cc).
  if (start == actions.end() || !job.PodWrites(*start).empty()) return;
  const auto event = std::find_if(start, actions.end(), [](const JobAction& action) {
    const auto* emitted = std::get_if<EmitEvent>(&action);
    return emitted != nullptr && emitted->reason == "Started";
  });
  if (event == actions.end()) return;
  starts_[job.meta().uid] = {job.meta().resource_version, std::get<EmitEvent>(*event)};
}

std::optional<EmitEvent> UnseenStarts::Take(const JobState& job) {
  const auto found = starts_.find(job.meta().uid);
  if (found == starts_.end() || found->second.resource_version == job.meta().resource_version) {
    return std::nullopt;
  }
  Start start = std::move(found->second);
  starts_.erase(found);
  const JobView view = job.View();
  // A job that is suspended still, or again, is started by a plan with its own event.
  if (view.suspended || view.stopping) return std::nullopt;
  return std::move(start.event);
}

}  // namespace berth::integrations

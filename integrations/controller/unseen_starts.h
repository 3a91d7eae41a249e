// integrations/controller/unseen_starts.h — the events of starts whose answer is lost.
//
// The write that starts a job may happen although its answer is lost: then the job runs, and no
// plan has the event of the start.
//
//     Expect ─▶ the write ─▶ Told: the event was sent with the plan
//                       └──▶ Take: the informer shows a running job; the event, once
//
// Limits: one start for each job; a start has no event if the job is deleted, or the process ends,
// before the informer shows the running job.
//
// Threads: one, that of the reconciler. Errors: none.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "integrations/action_plan.h"
#include "integrations/controller/job_source.h"

namespace berth::integrations {

class UnseenStarts {
 public:
  // Remembers the event of a start in `plan`, the plan of `job`.
  void Expect(const JobState& job, const JobPlan& plan);
  // The event that is due: `job` has changed since the start, and runs.
  std::optional<EmitEvent> Take(const JobState& job);
  void Told(const std::string& job_uid) { starts_.erase(job_uid); }

 private:
  struct Start {
    std::string resource_version;  // the version of the job before the start
    EmitEvent event;
  };
  std::map<std::string, Start> starts_;  // by the job's uid
};

}  // namespace berth::integrations

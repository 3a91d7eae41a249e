// integrations/controller/job_events.h — the events of jobs, on the job or on its pods. An event
// about a state (of checks, or a problem of the object) is not repeated while its message is the
// same.
//
// Threads: one, that of the reconciler. Errors: none; an event that cannot be written is lost.
#pragma once

#include <map>
#include <string>

#include "integrations/action_plan.h"
#include "integrations/controller/job_source.h"
#include "kube/runtime/events.h"

namespace berth::integrations {

class JobEvents {
 public:
  // Both outlive the object.
  JobEvents(kube::EventRecorder& events, const JobSource& source)
      : events_(events), source_(source) {}

  void Emit(const JobState& state, const EmitEvent& event);
  // Call when the job is deleted.
  void Forget(const std::string& job_uid) { told_states_.erase(job_uid); }

 private:
  kube::EventRecorder& events_;
  const JobSource& source_;
  // The message of an object's last event that tells a state, by the uid of the job or of its pod.
  using ToldStates = std::map<std::string, std::string>;
  std::map<std::string, ToldStates> told_states_;  // by job uid
};

}  // namespace berth::integrations

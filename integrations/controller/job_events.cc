// The events of jobs.
#include "integrations/controller/job_reconciler.h"

namespace berth::integrations {

void JobReconciler::Emit(const JobState& state, const EmitEvent& event) {
  const api::ObjectMeta& job = state.meta();
  if (event.reason == "Started") starts_.Told(job.uid);
  auto rank = kube::EventRank::kDecision;
  const bool is_state =
      event.reason == "UpdatedAdmissionCheck" || event.reason == "ErrWorkloadCompose" ||
      event.reason == "ManagedByMultiKueue" || event.reason == "WorkloadNameConflict" ||
      event.reason == "JobNestingTooDeep";
  if (is_state && source_.Meta(job.key()) != nullptr) {
    std::string& last = last_state_message_[job.uid];
    if (last == event.message) return;
    last = event.message;
    // The reason why no Workload can be made is told once, and nowhere else.
    if (event.type == EmitEvent::Type::kNormal) rank = kube::EventRank::kCommentary;
  }
  const auto record = [&](const api::ObjectMeta& object) {
    const api::ResourceKind& kind = source_.resource();
    events_.Record({kind.api_version(), std::string(kind.kind), object.key(), object.uid,
                    object.resource_version},
                   event.type == EmitEvent::Type::kWarning ? kube::EventType::kWarning
                                                           : kube::EventType::kNormal,
                   event.reason, "", event.message, rank);
  };
  const std::vector<api::ObjectMeta> pods = state.Pods();
  for (const api::ObjectMeta& pod : pods) {
    if (event.pod.empty() || event.pod == pod.name) record(pod);
  }
  if (pods.empty()) record(job);
}

}  // namespace berth::integrations

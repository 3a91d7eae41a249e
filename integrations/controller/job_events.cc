#include "integrations/controller/job_events.h"

#include <utility>
#include <vector>

namespace berth::integrations {

void JobEvents::Emit(const JobState& state, const EmitEvent& event) {
  const api::ObjectMeta& job = state.meta();
  auto rank = kube::EventRank::kDecision;
  const bool is_state =
      event.reason == "UpdatedAdmissionCheck" || event.reason == "ErrWorkloadCompose" ||
      event.reason == "ManagedByMultiKueue" || event.reason == "WorkloadNameConflict" ||
      event.reason == "JobNestingTooDeep";
  const bool is_told_once = is_state && source_.Meta(job.key()) != nullptr;
  // The reason why no Workload can be made is emitted once, and nowhere else.
  if (is_told_once && event.type == EmitEvent::Type::kNormal) rank = kube::EventRank::kCommentary;
  ToldStates told;
  const auto record = [&](const api::ObjectMeta& object) {
    if (is_told_once) {
      ToldStates& before = told_states_[job.uid];
      const auto last = before.find(object.uid);
      const bool is_known = last != before.end() && last->second == event.message;
      told[object.uid] = event.message;
      if (is_known) return;
    }
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
  if (is_told_once) told_states_[job.uid] = std::move(told);
}

}  // namespace berth::integrations

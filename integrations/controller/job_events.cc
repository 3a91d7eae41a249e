#include "integrations/controller/job_events.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace berth::integrations {
namespace {

// The events that tell how far a job has come, in order. The Workload's conditions tell the same.
constexpr std::array<const char*, 3> kStages{"CreatedWorkload", "Started", "FinishedWorkload"};

// Leaves out the stages before `reason` that wait to be written.
void SupersedeStages(kube::EventRecorder& events, const kube::ObjectReference& job,
                     const std::string& reason) {
  const auto stage = std::find(kStages.begin(), kStages.end(), reason);
  if (stage == kStages.end()) return;
  std::for_each(kStages.begin(), stage, [&](const char* earlier) {
    events.Supersede(job, kube::EventType::kNormal, earlier);
  });
}

}  // namespace

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
    const kube::ObjectReference reference{kind.api_version(), std::string(kind.kind), object.key(),
                                          object.uid, object.resource_version};
    SupersedeStages(events_, reference, event.reason);
    events_.Record(reference,
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

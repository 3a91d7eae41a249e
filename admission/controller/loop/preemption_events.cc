#include "admission/controller/loop/preemption_events.h"

namespace berth::admission {
namespace {

// "; preemptor effective priority: 9 (base: 7, boost: 2)".
std::string PriorityOf(const char* role, const api::Workload& workload,
                       const queue::OrderingOptions& ordering) {
  const std::int64_t base = workload.spec.priority.value_or(0);
  const std::int64_t effective = queue::EffectivePriority(workload, ordering);
  return std::string("; ") + role + " effective priority: " + std::to_string(effective) +
         " (base: " + std::to_string(base) + ", boost: " + std::to_string(effective - base) + ")";
}

}  // namespace

void RecordPreemption(kube::EventRecorder& events, const queue::OrderingOptions& ordering,
                      const api::Workload& preemptor, const api::Workload& victim,
                      const std::string& message) {
  const std::string priorities =
      PriorityOf("preemptor", preemptor, ordering) + PriorityOf("preemptee", victim, ordering);
  const kube::ObjectReference to_victim = kube::ReferenceTo(victim);
  events.Record(to_victim, kube::EventType::kNormal, "Preempted", "Preempted",
                message + priorities);
  const std::string queue = victim.status.admission ? victim.status.admission->cluster_queue : "";
  events.Record(kube::ReferenceTo(preemptor), kube::EventType::kNormal, "PreemptedWorkload",
                "PreemptedWorkload",
                "Preempted workload " + victim.meta.key().ToString() + " (UID: " + victim.meta.uid +
                    ") in ClusterQueue " + queue + priorities);
  events.Record(to_victim, kube::EventType::kNormal, "EvictedDueToPreempted", "Evicted", message);
}

}  // namespace berth::admission

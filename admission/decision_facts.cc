#include "admission/decision_facts.h"

#include "admission/messages.h"
#include "api/condition.h"
#include "api/holds.h"
#include "api/pod.h"
#include "api/pod_groups.h"
#include "api/reasons.h"
#include "queue/workload_info.h"

namespace berth::admission {

bool Matters(const api::Workload& before, const api::Workload& after) {
  if (before.meta.generation != after.meta.generation) return true;
  if (before.status.reclaimable_pods != after.status.reclaimable_pods) return true;
  if (api::IsGated(before) != api::IsGated(after)) return true;
  if (api::IsOnHold(before) != api::IsOnHold(after)) return true;
  if (queue::DecidingAnnotationsDiffer(before, after)) return true;
  const auto not_before = [](const api::Workload& workload) {
    const auto& state = workload.status.requeue_state;
    return state ? state->requeue_at : std::nullopt;
  };
  if (not_before(before) != not_before(after)) return true;
  for (const char* type : {api::kQuotaReserved, api::kAdmitted, api::kEvicted, api::kFinished,
                           api::kRequeued, api::kWaitingForReplacementPods}) {
    if (api::IsTrue(before.status.conditions, type) != api::IsTrue(after.status.conditions, type)) {
      return true;
    }
  }
  return false;
}

bool RestsOnTheSame(const api::Workload& before, const api::Workload& after) {
  return before.meta.uid == after.meta.uid && !after.meta.deletion_timestamp &&
         !Matters(before, after);
}

api::Admission AdmissionOf(const Decision& decision, const Scheduler& scheduler) {
  return AdmissionOf(decision, scheduler.state().vocabulary(),
                     scheduler.state().queue(decision.cluster_queue).name);
}

std::map<std::string, api::ResourceAmounts> RequestsOf(const Decision& decision,
                                                       const Vocabulary& vocabulary) {
  std::map<std::string, api::ResourceAmounts> requests;
  for (const PodSetDecision& pod_set : decision.assignment.pod_sets) {
    api::ResourceAmounts& amounts = requests[pod_set.name];
    for (const ResourceRequest& request : pod_set.requests) {
      amounts[vocabulary.resources[request.resource]] = request.amount;
    }
  }
  if (!requests.empty()) return requests;
  for (const api::PodSet& pod_set : decision.object->spec.pod_sets) {
    api::ResourceAmounts& amounts = requests[pod_set.name];
    for (const auto& [resource, amount] : api::PodRequests(pod_set.pod_template.spec)) {
      amounts[resource] = api::MultiplyAmounts(amount, pod_set.count);
    }
  }
  return requests;
}

}  // namespace berth::admission

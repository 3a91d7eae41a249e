#include "admission/controller/workload_reconciler.h"

#include <algorithm>
#include <set>
#include <utility>

#include "api/reasons.h"

namespace berth::admission {
namespace {

// A workload that the scheduler admits at once gets its checks with the reservation, in one write.
constexpr Duration kFirstTry = std::chrono::seconds(1);

}  // namespace

std::vector<std::string> FlavorsOf(const api::Admission& admission) {
  std::set<std::string> flavors;
  for (const api::PodSetAssignment& assignment : admission.pod_set_assignments) {
    for (const auto& [resource, flavor] : assignment.flavors) flavors.insert(flavor);
  }
  return {flavors.begin(), flavors.end()};
}

WorkloadReconciler::WorkloadReconciler(WorkloadReconcilerParts parts, QueueLookup lookup,
                                       LifecycleOptions options, Observer observer)
    : parts_(parts),
      lookup_(std::move(lookup)),
      options_(options),
      observer_(std::move(observer)) {}

WorkloadReconciler::Observed WorkloadReconciler::Observe(const api::Workload& workload) const {
  Observed observed;
  WorkloadSituation& situation = observed.situation;
  situation.workload = &workload;
  situation.pods_ready = options_.pods_ready;
  situation.keep_finished = options_.keep_finished;
  situation.hear_late_answers = options_.hear_late_answers;
  situation.nobody_stops_it = workload.meta.owner_references.empty();
  situation.local_queue.name = workload.spec.queue_name;
  const auto local =
      parts_.local_queues.Get({workload.meta.namespace_name, workload.spec.queue_name});
  if (local != nullptr) {
    situation.local_queue = {.name = local->meta.name,
                             .exists = true,
                             .active = api::IsTrue(local->status.conditions, api::kActive),
                             .deleting = local->meta.deletion_timestamp.has_value(),
                             .stop_policy = local->stop_policy};
    situation.cluster_queue.name = local->cluster_queue;
  }
  const auto& admission = workload.status.admission;
  if (admission) situation.cluster_queue.name = admission->cluster_queue;
  const auto queue = parts_.cluster_queues.Get({"", situation.cluster_queue.name});
  if (queue != nullptr) {
    situation.cluster_queue.exists = true;
    situation.cluster_queue.active = lookup_.is_active(queue->meta.name);
    situation.cluster_queue.deleting = queue->meta.deletion_timestamp.has_value();
    situation.cluster_queue.stop_policy = queue->spec.stop_policy;
  }
  if (admission) {
    situation.required_checks =
        lookup_.required_checks(admission->cluster_queue, FlavorsOf(*admission));
  } else if (queue != nullptr) {
    const Duration age = parts_.clock.Now() - workload.meta.creation_timestamp;
    if (age >= kFirstTry) {
      situation.required_checks = ChecksWhileWaiting(workload, *queue);
    } else if (!queue->spec.admission_checks.empty()) {
      observed.look_again = kFirstTry - age;
    }
  }
  if (!api::IsTrue(workload.status.conditions, api::kQuotaReserved)) {
    situation.pod_problem = lookup_.pod_problem(workload);
  }
  return observed;
}

std::optional<std::vector<std::string>> WorkloadReconciler::ChecksWhileWaiting(
    const api::Workload& workload, const api::ClusterQueue& queue) const {
  auto checks = lookup_.checks_before_reservation(queue.meta.name);
  if (!checks) return std::nullopt;
  // The other checks of the queue keep what they said of an earlier reservation.
  for (const api::AdmissionCheckState& state : workload.status.admission_checks) {
    const auto& rules = queue.spec.admission_checks;
    if (std::any_of(rules.begin(), rules.end(),
                    [&state](const auto& rule) { return rule.check == state.name; })) {
      checks->push_back(state.name);
    }
  }
  std::sort(checks->begin(), checks->end());
  checks->erase(std::unique(checks->begin(), checks->end()), checks->end());
  return checks;
}

void WorkloadReconciler::Tell(const api::Workload& workload, const WorkloadPlan& plan) {
  for (const PlannedEvent& event : plan.events) {
    parts_.events.Record(kube::ReferenceTo(workload),
                         event.type == PlannedEvent::Type::kNormal ? kube::EventType::kNormal
                                                                   : kube::EventType::kWarning,
                         event.reason, event.reason, event.message);
  }
  observer_(workload, plan);
}

void WorkloadReconciler::TellIfWritten(const api::Workload& fresh) {
  const auto lost = unanswered_.find(fresh.meta.key());
  if (lost == unanswered_.end()) return;
  const std::vector<api::Condition>& planned = lost->second.plan.status->conditions;
  const bool written =
      std::all_of(planned.begin(), planned.end(), [&fresh](const api::Condition& each) {
        if (each.type == api::kPodsReady) return true;  // the job's controller writes it, too
        const api::Condition* now = api::FindCondition(fresh.status.conditions, each.type);
        return now != nullptr && now->status == each.status && now->reason == each.reason &&
               now->message == each.message;
      });
  const bool is_other = lost->second.workload->meta.uid != fresh.meta.uid;
  if (!written && !is_other) return;  // the watch may deliver the write later
  if (!is_other) Tell(*lost->second.workload, lost->second.plan);
  unanswered_.erase(lost);
}

void WorkloadReconciler::Reconcile(const api::ObjectKey& key, Done done) {
  const std::shared_ptr<const api::Workload> workload = parts_.workloads.Get(key);
  if (workload == nullptr) {
    unanswered_.erase(key);
    return done(kube::NextLook{});
  }
  TellIfWritten(*workload);
  const Observed observed = Observe(*workload);
  WorkloadPlan plan = PlanWorkload(observed.situation, parts_.clock.Now());
  if (observed.look_again) {
    plan.look_again =
        std::min(plan.look_again.value_or(*observed.look_again), *observed.look_again);
  }
  auto written = [this, workload, plan, done](const Status& status) {
    if (!status) {
      // The Workload was deleted meanwhile.
      if (status.error().code == ErrorCode::kNotFound) return done(kube::NextLook{});
      if (plan.status && !plan.events.empty()) {
        unanswered_[workload->meta.key()] = {workload, plan};
      }
      return done(status.error());
    }
    unanswered_.erase(workload->meta.key());
    Tell(*workload, plan);
    done(kube::NextLook{plan.look_again});
  };
  if (plan.status) return parts_.writer.ApplyStatus(*workload, *plan.status, std::move(written));
  if (plan.finish) return parts_.writer.Finish(*workload, *plan.finish, std::move(written));
  if (plan.deactivate) return parts_.writer.Deactivate(*workload, std::move(written));
  if (plan.remove) return parts_.writer.Remove(*workload, std::move(written));
  if (plan.remove_finalizer) return parts_.writer.RemoveFinalizer(*workload, std::move(written));
  done(kube::NextLook{plan.look_again});
}

}  // namespace berth::admission

#include "admission/controller/workload_reconciler.h"

#include <set>
#include <utility>

#include "api/reasons.h"

namespace berth::admission {

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

WorkloadSituation WorkloadReconciler::Observe(const api::Workload& workload) const {
  WorkloadSituation situation;
  situation.workload = &workload;
  situation.pods_ready = options_.pods_ready;
  situation.keep_finished = options_.keep_finished;
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
  }
  if (!api::IsTrue(workload.status.conditions, api::kQuotaReserved)) {
    situation.pod_problem = lookup_.pod_problem(workload);
  }
  return situation;
}

void WorkloadReconciler::Reconcile(const api::ObjectKey& key, Done done) {
  const std::shared_ptr<const api::Workload> workload = parts_.workloads.Get(key);
  if (workload == nullptr) return done(kube::NextLook{});
  WorkloadPlan plan = PlanWorkload(Observe(*workload), parts_.clock.Now());
  auto written = [this, workload, plan, done](const Status& status) {
    if (!status) {
      // The Workload was deleted meanwhile.
      if (status.error().code == ErrorCode::kNotFound) return done(kube::NextLook{});
      return done(status.error());
    }
    for (const PlannedEvent& event : plan.events) {
      parts_.events.Record(kube::ReferenceTo(*workload),
                           event.type == PlannedEvent::Type::kNormal ? kube::EventType::kNormal
                                                                     : kube::EventType::kWarning,
                           event.reason, event.reason, event.message);
    }
    observer_(*workload, plan);
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

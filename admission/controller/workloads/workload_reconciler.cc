#include "admission/controller/workloads/workload_reconciler.h"

#include <algorithm>
#include <utility>

#include "api/reasons.h"

namespace berth::admission {

WorkloadReconciler::WorkloadReconciler(WorkloadReconcilerParts parts, Observer observer)
    : parts_(parts), observer_(std::move(observer)) {}

const api::LocalQueue* WorkloadReconciler::FindLocalQueue(const api::ObjectKey& key) const {
  return parts_.local_queues.Get(key).get();
}

const api::ClusterQueue* WorkloadReconciler::FindClusterQueue(const std::string& name) const {
  return parts_.cluster_queues.Get({"", name}).get();
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
  const WorkloadPlan plan = parts_.driver.PlanWorkload(*workload, *this, parts_.clock.Now());
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

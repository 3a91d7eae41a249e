// admission/controller/workloads/workload_reconciler.h — writes the plan of a Workload's life
// (Driver::PlanWorkload).
//
// Threads: one Executor.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "admission/controller/workloads/workload_writer.h"
#include "admission/driver.h"
#include "admission/lifecycle/workload_lifecycle.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"
#include "kube/client/informer.h"
#include "kube/runtime/events.h"
#include "kube/runtime/reconciler.h"

namespace berth::admission {

struct WorkloadReconcilerParts {
  const Driver& driver;
  kube::Informer<api::Workload>& workloads;
  kube::Informer<api::LocalQueue>& local_queues;
  kube::Informer<api::ClusterQueue>& cluster_queues;
  WorkloadWriter& writer;
  kube::EventRecorder& events;
  const Clock& clock;
};

class WorkloadReconciler final : public kube::Reconciler, private QueueObjects {
 public:
  // Called after each write with the plan that was written, for metrics.
  using Observer = std::function<void(const api::Workload& before, const WorkloadPlan& plan)>;

  WorkloadReconciler(WorkloadReconcilerParts parts, Observer observer);

  std::string_view name() const override { return "workload"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

 private:
  // A plan that the API server may have carried out: its answer was lost.
  struct Unanswered {
    std::shared_ptr<const api::Workload> workload;
    WorkloadPlan plan;
  };

  const api::LocalQueue* FindLocalQueue(const api::ObjectKey& key) const override;
  const api::ClusterQueue* FindClusterQueue(const std::string& name) const override;
  void Tell(const api::Workload& workload, const WorkloadPlan& plan);
  // Calls Tell for the plan whose answer was lost, if the Workload shows that the plan was carried
  // out.
  void TellIfWritten(const api::Workload& fresh);

  WorkloadReconcilerParts parts_;
  Observer observer_;
  std::map<api::ObjectKey, Unanswered> unanswered_;
};

}  // namespace berth::admission

// admission/controller/workloads/priority_classes.h — copies a changed value of a
// WorkloadPriorityClass to the Workloads that name the class, waiting and running ones alike.
//
// Threads: one Executor. Errors: as Reconciler; a Workload that changed since it was read is
// retried. Source: Kueue pkg/controller/core/workloadpriorityclass_controller.go.
#pragma once

#include "admission/controller/workloads/workload_writer.h"
#include "api/pod.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/reconciler.h"

namespace berth::admission {

// One reconcile serves all classes: values change seldom, and a reconcile walks all Workloads.
class PriorityClasses final : public kube::Reconciler {
 public:
  PriorityClasses(kube::Manager& manager, WorkloadWriter& writer);

  void Watch(kube::Controller& controller);
  std::string_view name() const override { return "workloadpriorityclasses"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

 private:
  // The value of the Workload's class; nullopt: no class, or the Workload has the value.
  std::optional<std::int32_t> NewPriorityOf(const api::Workload& workload) const;

  kube::Informer<api::WorkloadPriorityClass>& classes_;
  kube::Informer<api::Workload>& workloads_;
  WorkloadWriter& writer_;
};

}  // namespace berth::admission

// admission/controller/priority_classes.h — a WorkloadPriorityClass that gets another value: the
// Workloads that name it follow, waiting and running ones alike.
//
// Threads: one Executor. Errors: as Reconciler; a Workload that has changed meanwhile is looked at
// again. Source: Kueue pkg/controller/core/workloadpriorityclass_controller.go.
#pragma once

#include "admission/controller/workload_writer.h"
#include "api/pod.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/reconciler.h"

namespace berth::admission {

// One look serves all classes: values change seldom, and it goes over all Workloads.
class PriorityClasses final : public kube::Reconciler {
 public:
  PriorityClasses(kube::Manager& manager, WorkloadWriter& writer);

  void Watch(kube::Controller& controller);
  std::string_view name() const override { return "workloadpriorityclasses"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

 private:
  // The value that its class has now; nullopt: it names none, or is as it should be.
  std::optional<std::int32_t> NewPriorityOf(const api::Workload& workload) const;

  kube::Informer<api::WorkloadPriorityClass>& classes_;
  kube::Informer<api::Workload>& workloads_;
  WorkloadWriter& writer_;
};

}  // namespace berth::admission

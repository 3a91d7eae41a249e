// integrations/controller/job_tables.h — the objects of the cluster that plans of jobs look up by
// name: flavors and priority classes. Shared by the reconcilers of all kinds.
//
// Threads: one Executor, that of the manager.
#pragma once

#include "integrations/action_plan.h"
#include "kube/runtime/manager.h"

namespace berth::integrations {

class JobTables {
 public:
  // Construct before the manager's informers start.
  explicit JobTables(kube::Manager& manager);

  // Sets the three tables of `situation`; they are valid until the next call.
  void Fill(JobSituation& situation);

 private:
  void Refresh();

  kube::Informer<api::ResourceFlavor>& flavors_;
  kube::Informer<api::PriorityClass>& priority_classes_;
  kube::Informer<api::WorkloadPriorityClass>& workload_priority_classes_;
  bool stale_ = true;  // an informer has changed
  FlavorsByName flavor_table_;
  PriorityClassesByName priority_class_table_;
  PriorityClassesByName workload_priority_class_table_;
};

}  // namespace berth::integrations

// integrations/controller/job_reconciler.h — batch Jobs: observe, plan (job_plan.h), perform.
//
// Threads: one Executor, that of the manager.
// Errors: of the API, prefixed with the action's name; the work queue retries the key.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/job.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"
#include "integrations/batch_job.h"
#include "integrations/job_plan.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/metrics.h"
#include "kube/runtime/reconciler.h"
#include "kube/runtime/steps.h"
#include "kube/runtime/sweep.h"

namespace berth::integrations {

struct JobReconcilerOptions {
  QueueNameRule queue_name_rule = QueueNameRule::kRequired;
  PodsReadyRule pods_ready_rule = PodsReadyRule::kReport;
  bool report_reclaimable_pods = true;
  api::LabelSelector namespace_selector;  // selects namespaces whose jobs are managed
  BuildOptions build;
  std::optional<Duration> keep_deactivated;  // see JobSituation
  kube::Metrics* metrics = nullptr;          // outlives the reconciler; null: no metrics
};

class JobReconciler final : public kube::Reconciler {
 public:
  // Requests its informers from `manager`: construct before they start. References must outlive it.
  JobReconciler(kube::Manager& manager, const Clock& clock, kube::EventRecorder& events,
                JobReconcilerOptions options);

  // Adds the keys of changed jobs to `controller` from now on.
  void Watch(kube::Controller& controller);

  std::string_view name() const override { return "job"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

 private:
  struct Pass;

  kube::Sweep Orphans() const;
  JobSituation Observe(const api::Job& job) const;
  std::vector<api::Workload> WorkloadsOf(const api::ObjectKey& job) const;
  std::optional<ManagedAncestor> AncestorOf(const api::Job& job) const;
  NamespaceRule RuleOf(const std::string& namespace_name) const;
  void RefreshTables() const;

  std::vector<kube::Step> StepsFor(const std::shared_ptr<Pass>& pass, const JobAction& action);
  std::vector<kube::Step> SpecSteps(const JobAction& action);
  std::vector<kube::Step> StatusSteps(const JobAction& action);
  api::Workload Stored(const api::ObjectKey& key) const;
  kube::Step WorkloadStep(const std::string& what, const api::ObjectKey& key, kube::PatchType type,
                          kube::Json patch, kube::WriteOptions options);
  void EndFailed(const api::ObjectKey& key, const Error& error, const std::string& what,
                 std::function<void(Status)> next);
  kube::Step FinalizerStep(const api::ObjectKey& key);
  kube::Step CreateStep(const std::shared_ptr<Pass>& pass, const api::Workload& workload);
  void OnCreated(const api::Job& job);
  bool CreatedLately(const api::Job& job);
  void OnLost(const api::Workload& workload);
  kube::Step DeleteStep(const api::ObjectKey& key);
  kube::Step DeleteJobStep(const std::shared_ptr<Pass>& pass);
  kube::Step JobStep(const std::shared_ptr<Pass>& pass, BatchJobWrite write);
  void Emit(const api::Job& job, const EmitEvent& event);

  kube::Manager& manager_;
  const Clock& clock_;
  kube::EventRecorder& events_;
  JobReconcilerOptions options_;
  kube::Informer<api::Job>& jobs_;
  kube::Informer<api::Workload>& workloads_;
  kube::Informer<api::Namespace>& namespaces_;
  kube::Informer<api::ResourceFlavor>& flavors_;
  kube::Informer<api::PriorityClass>& priority_classes_;
  kube::Informer<api::WorkloadPriorityClass>& workload_priority_classes_;
  // The creation time of a Workload that the informer does not show yet, by job uid.
  std::map<std::string, SteadyTime> created_;
  // By job uid: deletions of its Workload by other clients: time of the last, and recent number.
  struct Lost {
    SteadyTime at{};
    int count = 0;
  };
  std::map<std::string, Lost> lost_;
  // The message of the last event UpdatedAdmissionCheck, which is not repeated, by job uid.
  std::map<std::string, std::string> last_check_message_;
  // Typed tables for planning, rebuilt when their informers change.
  mutable bool tables_stale_ = true;
  mutable FlavorsByName flavor_table_;
  mutable PriorityClassesByName priority_class_table_;
  mutable PriorityClassesByName workload_priority_class_table_;
};

}  // namespace berth::integrations

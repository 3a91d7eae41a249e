// integrations/controller/job_reconciler.h — the jobs of one kind: observe, plan (job_plan.h),
// perform.
//
// Threads: one Executor, that of the manager.
// Errors: of the API, prefixed with the action's name; the work queue retries the key.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"
#include "integrations/action_plan.h"
#include "integrations/controller/job_events.h"
#include "integrations/controller/job_owners.h"
#include "integrations/controller/job_source.h"
#include "integrations/controller/job_tables.h"
#include "integrations/controller/pod_owners.h"
#include "integrations/controller/pod_steps.h"
#include "integrations/controller/stop_pace.h"
#include "integrations/controller/unseen_starts.h"
#include "integrations/controller/workload_writes.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/metrics.h"
#include "kube/runtime/reconciler.h"
#include "kube/runtime/sweep.h"
#include "kube/runtime/write_steps.h"

namespace berth::integrations {

struct JobReconcilerOptions {
  QueueNameRule queue_name_rule = QueueNameRule::kRequired;
  PodsReadyRule pods_ready_rule = PodsReadyRule::kReport;
  bool report_reclaimable_pods = true;
  WorkloadNameRule workload_name_rule = WorkloadNameRule::kAnnotate;
  bool workload_slices = true;            // gate ElasticJobsViaWorkloadSlices
  api::LabelSelector namespace_selector;  // selects namespaces whose jobs are managed
  BuildOptions build;
  std::optional<Duration> keep_deactivated;  // see JobSituation
  // Returns what is wrong with a Workload that is about to be created; empty: nothing. Null: every
  // Workload is created.
  std::function<std::string(const api::Workload&)> review;
  kube::Metrics* metrics = nullptr;  // outlives the reconciler; null: no metrics
};

class JobReconciler final : public kube::Reconciler {
 public:
  // The objects that the reconcilers of all kinds share; all of them outlive the reconcilers.
  struct Shared {
    kube::Manager& manager;
    const Clock& clock;
    kube::EventRecorder& events;
    JobOwners& owners;
    JobTables& tables;
  };

  // Requests its informers from the manager: construct before they start. `source` outlives it.
  JobReconciler(const Shared& shared, JobSource& source, JobReconcilerOptions options);
  JobReconciler(const JobReconciler&) = delete;
  JobReconciler& operator=(const JobReconciler&) = delete;

  // Adds the keys of changed jobs to `controller` from now on.
  void Watch(kube::Controller& controller);

  std::string_view name() const override { return name_; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

 private:
  struct Pass;

  kube::Sweep Orphans() const;
  std::vector<api::Workload> WorkloadsOf(const api::ObjectKey& job) const;
  JobSituation Observe(const JobState& job) const;
  // `found`: null where the namespace was not seen yet.
  NamespaceRule RuleOf(const std::string& namespace_name, const api::Namespace* found) const;

  std::vector<kube::Step> StepsFor(const std::shared_ptr<Pass>& pass, const JobAction& action);
  bool MayRunUnseen(const JobState& job, const api::ObjectKey& workload) const;
  kube::Step CreateStep(const std::shared_ptr<Pass>& pass, const api::Workload& workload);
  void OnCreated(const api::ObjectMeta& job);
  bool CreatedLately(const api::ObjectMeta& job);
  void OnLost(const api::Workload& workload);
  kube::Step DeleteJobStep(const std::shared_ptr<Pass>& pass);
  kube::Step JobStep(const std::shared_ptr<Pass>& pass, JobWrite write);
  std::function<void()> ObserverOf(const JobState& job, const JobAction& action) const;
  void Emit(const JobState& job, const EmitEvent& event);

  kube::Manager& manager_;
  const Clock& clock_;
  JobOwners& owners_;
  JobTables& tables_;
  JobSource& source_;
  JobReconcilerOptions options_;
  std::string name_;  // the kind in lower case
  kube::Informer<api::Workload>& workloads_;
  kube::Informer<api::Namespace>& namespaces_;
  WorkloadWrites writes_;
  PodSteps pod_steps_;
  PodOwners pod_owners_;
  JobEvents job_events_;
  // The creation time of a Workload that the informer does not show yet, by job uid.
  std::map<std::string, SteadyTime> created_;
  // By job uid: the deletions of its Workload by other clients, with the time of the last one and
  // the recent number.
  struct Lost {
    SteadyTime at{};
    int count = 0;
  };
  std::map<std::string, Lost> lost_;
  std::set<std::string> stopped_;  // uids of jobs stopped by a write that was answered
  UnseenStarts starts_;
  StopPace stops_;
};

}  // namespace berth::integrations

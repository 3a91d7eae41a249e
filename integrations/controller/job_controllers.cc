#include "integrations/controller/job_controllers.h"

#include "integrations/controller/described_jobs.h"

namespace berth::integrations {

api::LabelSelector DefaultManagedNamespaces(const std::string& own_namespace) {
  return {.match_expressions = {{.key = "kubernetes.io/metadata.name",
                                 .op = "NotIn",
                                 .values = {"kube-system", own_namespace}}}};
}

struct JobControllers::Described {
  Described(const JobReconciler::Shared& shared, const KindPtr& kind,
            const JobReconcilerOptions& options)
      : jobs(shared.manager, kind), reconciler(shared, jobs, options) {}

  DescribedJobs jobs;
  JobReconciler reconciler;
};

JobControllers::JobControllers(kube::Manager& manager, const Clock& clock,
                               kube::EventRecorder& events, JobControllersOptions options)
    : owners_(manager, options.job.queue_name_rule),
      tables_(manager),
      batch_jobs_(manager),
      batch_job_reconciler_({manager, clock, events, owners_, tables_}, batch_jobs_, options.job),
      topology_ungater_(manager, clock, options.job.metrics) {
  if (options.batch_jobs == JobControllersOptions::BatchJobs::kManaged) {
    owners_.Add(batch_jobs_);
    batch_job_reconciler_.Watch(
        manager.AddController(batch_job_reconciler_, {.max_concurrent = options.concurrency}));
  }
  for (const KindPtr& kind : options.kinds) {
    const JobReconciler::Shared shared{manager, clock, events, owners_, tables_};
    auto& each = *described_.emplace_back(std::make_unique<Described>(shared, kind, options.job));
    owners_.Add(each.jobs);
    if (options.not_reconciled.contains(std::string(kind->kind.framework))) continue;
    each.reconciler.Watch(manager.AddController(
        each.reconciler, {.max_concurrent = options.concurrency}, {&each.jobs.informer()}));
  }
  if (!options.ungate_topology) return;
  topology_ungater_.Watch(
      manager.AddController(topology_ungater_, {.max_concurrent = options.ungater_concurrency}));
}

JobControllers::~JobControllers() = default;

void JobControllers::AddHandler(const JobSource::Handler& handler) {
  batch_jobs_.AddHandler(handler);
  for (const auto& each : described_) each->jobs.AddHandler(handler);
}

}  // namespace berth::integrations

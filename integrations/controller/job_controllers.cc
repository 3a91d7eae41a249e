#include "integrations/controller/job_controllers.h"

namespace berth::integrations {

api::LabelSelector DefaultManagedNamespaces(const std::string& own_namespace) {
  return {.match_expressions = {{.key = "kubernetes.io/metadata.name",
                                 .op = "NotIn",
                                 .values = {"kube-system", own_namespace}}}};
}

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
  if (!options.ungate_topology) return;
  topology_ungater_.Watch(
      manager.AddController(topology_ungater_, {.max_concurrent = options.ungater_concurrency}));
}

}  // namespace berth::integrations

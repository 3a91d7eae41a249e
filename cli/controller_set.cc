#include "cli/controller_set.h"

#include <algorithm>

#include "admission/controller/admission_controllers.h"
#include "integrations/controller/job_controllers.h"
#include "provisioning/controller/provisioning_controllers.h"

namespace berth::cli {
namespace {

api::LabelSelector ManagedNamespaces(const admission::Configuration& configuration) {
  return configuration.managed_jobs_namespace_selector.value_or(
      integrations::DefaultManagedNamespaces(configuration.namespace_name));
}

bool ManagesJobs(const admission::Configuration& configuration) {
  const auto& frameworks = configuration.frameworks;
  return std::find(frameworks.begin(), frameworks.end(), integrations::kBatchJob.framework) !=
         frameworks.end();
}

webhook::FactsMirrorOptions FactsOptions(const admission::Configuration& configuration) {
  return {.namespace_selector = ManagedNamespaces(configuration),
          .manage_without_queue_name = configuration.manage_jobs_without_queue_name,
          .jobs_managed = ManagesJobs(configuration)};
}

integrations::JobControllersOptions JobOptions(const admission::Configuration& configuration,
                                               kube::Metrics& metrics) {
  integrations::JobControllersOptions options;
  if (!ManagesJobs(configuration)) {
    options.batch_jobs = integrations::JobControllersOptions::BatchJobs::kLeftAlone;
  }
  options.job.namespace_selector = ManagedNamespaces(configuration);
  options.job.metrics = &metrics;
  options.job.keep_deactivated = configuration.keep_deactivated;
  options.job.build.label_keys_to_copy = configuration.label_keys_to_copy;
  if (configuration.manage_jobs_without_queue_name) {
    options.job.queue_name_rule = integrations::QueueNameRule::kManageWithoutName;
  }
  if (!configuration.admission.pods_ready.enabled) {
    options.job.pods_ready_rule = integrations::PodsReadyRule::kIgnore;
  }
  return options;
}

admission::AdmissionControllersOptions AdmissionOptions(
    const admission::Configuration& configuration) {
  admission::AdmissionControllersOptions options = configuration.admission;
  options.scheduler.managed_owners = admission::ManagedOwners(configuration);
  return options;
}

}  // namespace

struct ControllerSet::Parts {
  Parts(kube::Manager& manager, const Clock& clock, kube::EventRecorder& events,
        kube::Metrics& metrics, const admission::Configuration& configuration)
      : facts(manager, FactsOptions(configuration)),
        admission(manager, clock, events, metrics, AdmissionOptions(configuration)),
        jobs(manager, clock, events, JobOptions(configuration, metrics)),
        provisioning(manager, clock, events, {}) {}

  webhook::FactsMirror facts;
  admission::AdmissionControllers admission;
  integrations::JobControllers jobs;
  provisioning::ProvisioningControllers provisioning;
};

ControllerSet::ControllerSet(kube::Manager& manager, const Clock& clock,
                             kube::EventRecorder& events, kube::Metrics& metrics,
                             const admission::Configuration& configuration)
    : parts_(std::make_unique<Parts>(manager, clock, events, metrics, configuration)) {}

ControllerSet::~ControllerSet() = default;

const webhook::FactsMirror& ControllerSet::facts() const { return parts_->facts; }

const admission::Scheduler& ControllerSet::scheduler() const {
  return parts_->admission.scheduler();
}

}  // namespace berth::cli

#include "program/controller_set.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "admission/controller/admission_controllers.h"
#include "integrations/controller/job_controllers.h"
#include "integrations/controller/review_reads.h"
#include "program/declared_kinds.h"
#include "program/job_kinds.h"
#include "provisioning/controller/provisioning_controllers.h"
#include "webhook/controller/facts_mirror.h"
#include "webhook/controller/kind_webhooks.h"
#include "webhook/controller/zones_mirror.h"

namespace berth::program {
namespace {

using NodeTimeSink = std::function<void(const provisioning::MeterNote&)>;

api::LabelSelector ManagedNamespaces(const admission::Configuration& configuration) {
  return configuration.managed_jobs_namespace_selector.value_or(
      integrations::DefaultManagedNamespaces(configuration.namespace_name));
}

bool ManagesJobs(const admission::Configuration& configuration) {
  const auto& frameworks = configuration.frameworks;
  return std::find(frameworks.begin(), frameworks.end(), integrations::kBatchJob.framework) !=
         frameworks.end();
}

bool QueuesDeployments(const admission::Configuration& configuration) {
  const auto& frameworks = configuration.frameworks;
  return std::find(frameworks.begin(), frameworks.end(), "deployment") != frameworks.end();
}

webhook::FactsMirrorOptions FactsOptions(const admission::Configuration& configuration) {
  return {.namespace_selector = ManagedNamespaces(configuration),
          .manage_without_queue_name = configuration.manage_jobs_without_queue_name,
          .batch_jobs_managed = ManagesJobs(configuration),
          .default_priority_class = configuration.default_priority_class,
          .replica_sets = ManagesPods(configuration.frameworks) && QueuesDeployments(configuration),
          .pod_labels = PodLabelsOf(configuration.frameworks)};
}

// Takes the file's number for the kind, where the file has one.
void TakeConcurrency(const admission::Configuration& configuration, const char* kind,
                     std::size_t& out) {
  const auto& given = configuration.program.concurrency;
  if (const auto found = given.find(kind); found != given.end()) out = found->second;
}

// Workloads need the labels and annotations of their jobs whose values metrics tell.
void CopyKeysOfMetricLabels(const std::vector<admission::CustomMetricLabel>& labels,
                            integrations::BuildOptions& out) {
  using Label = admission::CustomMetricLabel;
  for (const Label& label : labels) {
    if (label.source != Label::Source::kWorkload) continue;
    const bool of_label = label.metadata == Label::Metadata::kLabel;
    (of_label ? out.label_keys_to_copy : out.annotation_keys_to_copy).push_back(label.key);
  }
}

integrations::JobControllersOptions JobOptions(const admission::Configuration& configuration,
                                               kube::Metrics& metrics,
                                               const ControllerSelection& selection) {
  integrations::JobControllersOptions options;
  const bool runs = selection.jobs.contains(std::string(integrations::kBatchJob.framework));
  if (!ManagesJobs(configuration) || !runs) {
    options.batch_jobs = integrations::JobControllersOptions::BatchJobs::kLeftAlone;
  }
  if (ManagesPodsOfParents(configuration.frameworks) &&
      selection.jobs.contains(std::string(integrations::kPod.framework))) {
    using Pods = integrations::JobControllersOptions::Pods;
    options.pods = ManagesPods(configuration.frameworks) ? Pods::kManaged : Pods::kOfParents;
  }
  options.kinds = DescribedKinds(configuration.frameworks);
  for (const integrations::KindPtr& kind : options.kinds) {
    std::string framework(kind->kind.framework);
    if (!selection.jobs.contains(framework)) options.not_reconciled.insert(std::move(framework));
  }
  options.user_kinds = selection.core;
  options.ungate_topology = selection.tas;
  options.ungate_slices = selection.elasticjobs;
  options.concurrency = configuration.program.concurrency;
  options.job.namespace_selector = ManagedNamespaces(configuration);
  options.job.metrics = &metrics;
  options.job.workload_slices = configuration.admission.driver.scheduler.gates.elastic_jobs;
  options.job.report_reclaimable_pods =
      configuration.admission.driver.scheduler.gates.reclaimable_pods;
  if (!configuration.admission.driver.scheduler.gates.topology_aware_scheduling) {
    options.job.workload_name_rule = integrations::WorkloadNameRule::kLeave;
  }
  options.job.keep_deactivated = configuration.keep_deactivated;
  // The webhook leaves out Workloads that the controller creates (manifests/webhook).
  options.job.review = [gates = ReviewGatesOf(configuration.admission.driver.scheduler.gates)](
                           const api::Workload& workload) {
    return webhook::Aggregate(webhook::ValidateWorkload(workload, nullptr, gates));
  };
  options.job.build.label_keys_to_copy = configuration.label_keys_to_copy;
  CopyKeysOfMetricLabels(configuration.admission.metrics.custom_labels, options.job.build);
  if (configuration.manage_jobs_without_queue_name) {
    options.job.queue_name_rule = integrations::QueueNameRule::kManageWithoutName;
  }
  if (!configuration.admission.driver.pods_ready.enabled) {
    options.job.pods_ready_rule = integrations::PodsReadyRule::kIgnore;
  }
  return options;
}

admission::AdmissionControllersOptions AdmissionOptions(
    const admission::Configuration& configuration, const ControllerSelection& selection) {
  admission::AdmissionControllersOptions options = configuration.admission;
  options.run = {
      .scheduler = selection.scheduler, .core = selection.core, .topology = selection.tas};
  TakeConcurrency(configuration, "Workload.kueue.x-k8s.io", options.concurrency.workload);
  TakeConcurrency(configuration, "ClusterQueue.kueue.x-k8s.io", options.concurrency.cluster_queue);
  TakeConcurrency(configuration, "LocalQueue.kueue.x-k8s.io", options.concurrency.local_queue);
  TakeConcurrency(configuration, "Cohort.kueue.x-k8s.io", options.concurrency.cohort);
  TakeConcurrency(configuration, "ResourceFlavor.kueue.x-k8s.io", options.concurrency.flavor);
  TakeConcurrency(configuration, "AdmissionCheck.kueue.x-k8s.io", options.concurrency.check);
  TakeConcurrency(configuration, "Topology.kueue.x-k8s.io", options.concurrency.topology);
  options.driver.scheduler.managed_owners = OwnersOf(configuration);
  return options;
}

}  // namespace

struct ControllerSet::Parts {
  Parts(kube::Manager& manager, const Clock& clock, kube::EventRecorder& events,
        kube::Metrics& metrics, const admission::Configuration& configuration,
        const ControllerSelection& selection, NodeTimeSink on_node_time)
      : facts(manager, FactsOptions(configuration)),
        zones(manager, selection.cloud_pools ? webhook::ZonesMirror::NodePools::kWatched
                                             : webhook::ZonesMirror::NodePools::kNone),
        reads(manager, DescribedKinds(configuration.frameworks)),
        kinds(
            ReviewedKinds(configuration.frameworks,
                          [this](const integrations::KindDescription& kind,
                                 const nlohmann::json& object) { return reads.Of(kind, object); })),
        kind_webhooks(manager.client(), manager.executor(), [this] { return declared.Webhooks(); }),
        admission(manager, clock, events, metrics, AdmissionOptions(configuration, selection)),
        jobs(manager, clock, events, WithOwners(JobOptions(configuration, metrics, selection))) {
    jobs.AddHandler({.on_change = [this](const auto& job) { facts.TakeJob(job, true); },
                     .on_delete = [this](const auto& job) { facts.TakeJob(job, false); }});
    if (selection.core) manager.OnLeaderStart([this] { kind_webhooks.Start(); });
    if (selection.checks.contains(provisioning::ProvisioningControllers::kName)) {
      provisioning::ProvisioningControllersOptions options;
      options.stock.namespace_name = configuration.namespace_name;
      options.metrics = &metrics;
      options.on_node_time = std::move(on_node_time);
      provisioning.emplace(manager, clock, events, std::move(options));
    }
  }

  // Workloads of declared kinds may be preempted.
  integrations::JobControllersOptions WithOwners(integrations::JobControllersOptions options) {
    options.on_user_kind = [this](const integrations::JobKind& kind, bool managed) {
      admission.ManageOwner({std::string(kind.group), std::string(kind.kind)}, managed);
    };
    options.on_reviewed_kind = [this](const std::string& name, const integrations::KindPtr& kind) {
      if (declared.Set(name, kind)) kind_webhooks.Refresh();
    };
    return options;
  }

  webhook::FactsMirror facts;
  webhook::ZonesMirror zones;
  integrations::ReviewReads reads;
  std::vector<webhook::ReviewedKind> kinds;
  DeclaredKinds declared;
  webhook::KindWebhooks kind_webhooks;
  admission::AdmissionControllers admission;
  integrations::JobControllers jobs;
  std::optional<provisioning::ProvisioningControllers> provisioning;
};

ControllerSet::ControllerSet(kube::Manager& manager, const Clock& clock,
                             kube::EventRecorder& events, kube::Metrics& metrics,
                             const admission::Configuration& configuration,
                             const ControllerSelection& selection, NodeTimeSink on_node_time)
    : parts_(std::make_unique<Parts>(manager, clock, events, metrics, configuration, selection,
                                     std::move(on_node_time))) {}

ControllerSet::~ControllerSet() = default;

webhook::JobReviews ControllerSet::Reviews() const {
  return {.facts = [facts = &parts_->facts](
                       const webhook::ReviewedKind& kind,
                       const api::ObjectMeta& job) { return facts->Of(kind, job); },
          .kinds = parts_->kinds,
          .declared = [declared = &parts_->declared](
                          std::string_view path) { return declared->Find(path); },
          .zones = [zones = &parts_->zones] { return zones->Known(); }};
}

const admission::Scheduler& ControllerSet::scheduler() const {
  return parts_->admission.scheduler();
}

Duration ControllerSet::TakeCommentary() { return parts_->admission.TakeCommentary(); }

void ControllerSet::Annotate(const api::Workload& workload, const std::string& annotation,
                             const std::string& value, std::function<void(Status)> done) {
  parts_->admission.Annotate(workload, annotation, value, std::move(done));
}

}  // namespace berth::program

#include "tests/view/view_builder.h"

#include "api/labels.h"
#include "api/reasons.h"
#include "base/rfc3339.h"

namespace berth::view {

WallTime ViewTime() { return ParseTime("2026-11-20T08:12:00Z").value_or(WallTime{}); }
WallTime SecondsAgo(std::int64_t seconds) { return ViewTime() - std::chrono::seconds(seconds); }

api::Condition TrueCondition(const std::string& type, const std::string& reason,
                             const std::string& message, WallTime since) {
  return {type, api::ConditionStatus::kTrue, reason, message, since, 0};
}
api::Condition FalseCondition(const std::string& type, const std::string& reason,
                              const std::string& message, WallTime since) {
  return {type, api::ConditionStatus::kFalse, reason, message, since, 0};
}

api::ClusterQueue MakeQueue(const std::string& name, const std::string& cohort,
                            const api::ResourceAmounts& nominal, const api::ResourceAmounts& used) {
  api::ClusterQueue queue;
  queue.meta.name = name;
  queue.spec.cohort_name = cohort;
  api::ResourceGroup group;
  api::FlavorQuotas flavor{.flavor = "t4", .resources = {}};
  api::FlavorUsage usage{.flavor = "t4", .resources = {}};
  for (const auto& [resource, amount] : nominal) {
    group.covered_resources.push_back(resource);
    flavor.resources.push_back({.resource = resource, .nominal_quota = amount});
    const auto found = used.find(resource);
    const api::Amount total = found == used.end() ? 0 : found->second;
    usage.resources.push_back({.resource = resource,
                               .total = total,
                               .borrowed = std::max<api::Amount>(0, total - amount)});
  }
  group.flavors = {flavor};
  queue.spec.resource_groups = {group};
  queue.status.flavors_reservation = {usage};
  return queue;
}

api::LocalQueue MakeLocalQueue(const std::string& key_namespace, const std::string& name,
                               const std::string& cluster_queue) {
  api::LocalQueue queue;
  queue.meta.namespace_name = key_namespace;
  queue.meta.name = name;
  queue.cluster_queue = cluster_queue;
  return queue;
}

api::Workload MakeWorkload(const std::string& key_namespace, const std::string& name,
                           const std::string& queue, std::int64_t age_seconds) {
  api::Workload workload;
  workload.meta.namespace_name = key_namespace;
  workload.meta.name = "job-" + name + "-5c1f2";
  workload.meta.uid = "uid-" + name;
  workload.meta.creation_timestamp = SecondsAgo(age_seconds);
  workload.meta.owner_references = {
      {"batch/v1", "Job", name, "job-uid-" + name, /*controller=*/true, true}};
  workload.spec.queue_name = queue;
  return workload;
}

api::Workload MakeRunning(const std::string& key_namespace, const std::string& name,
                          const std::string& cluster_queue, const api::ResourceAmounts& usage) {
  api::Workload workload = MakeWorkload(key_namespace, name, "queue", 60);
  api::PodSetAssignment assigned{.name = "main", .resource_usage = usage, .count = 1};
  for (const auto& [resource, amount] : usage) assigned.flavors[resource] = "t4";
  workload.status.admission = api::Admission{cluster_queue, {assigned}};
  workload.status.conditions = {
      TrueCondition(api::kQuotaReserved, api::kQuotaReserved, "", SecondsAgo(60)),
      TrueCondition(api::kAdmitted, api::kAdmitted, "", SecondsAgo(60))};
  return workload;
}

api::Job MakeJob(const api::Workload& workload) {
  api::Job job;
  job.meta.namespace_name = workload.meta.namespace_name;
  job.meta.name = workload.meta.owner_references.front().name;
  job.meta.uid = workload.meta.owner_references.front().uid;
  job.meta.labels[api::kQueueLabel] = workload.spec.queue_name;
  return job;
}

ClusterView DwsView() {
  ClusterView view;
  view.now = ViewTime();
  view.cluster_name = "local cluster";
  view.cluster_since = SecondsAgo(3 * kDay);
  view.cluster_queues = {MakeQueue("dws-cluster-queue", "",
                                   {{"cpu", 1'000'000'000'000}, {"nvidia.com/gpu", 1'000'000'000}},
                                   {{"cpu", 100}, {"nvidia.com/gpu", 8}})};
  view.local_queues = {MakeLocalQueue("default", "dws-local-queue", "dws-cluster-queue")};

  api::Workload workload =
      MakeWorkload("default", "h100-train", "dws-local-queue", 3 * kDay + 7200);
  const WallTime reserved_at = workload.meta.creation_timestamp;
  workload.status.conditions = {
      TrueCondition(api::kQuotaReserved, api::kQuotaReserved, "", reserved_at)};
  workload.status.admission =
      api::Admission{"dws-cluster-queue",
                     {{.name = "main",
                       .flavors = {{"cpu", "default-flavor"}, {"nvidia.com/gpu", "default-flavor"}},
                       .resource_usage = {{"cpu", 100}, {"nvidia.com/gpu", 8}},
                       .count = 1}}};
  workload.status.admission_checks = {{.name = "dws-prov",
                                       .state = api::CheckState::kPending,
                                       .last_transition_time = reserved_at,
                                       .message = "Waiting for resources."}};
  api::PodSet pod_set;
  pod_set.pod_template.spec.node_selector[api::kGkeNodePoolLabel] = "dws-h100-nodepool";
  workload.spec.pod_sets = {pod_set};

  api::ProvisioningRequest request;
  request.meta.namespace_name = "default";
  request.meta.name = workload.meta.name + "-dws-prov-1";
  request.meta.creation_timestamp = reserved_at;
  request.meta.owner_references = {
      {"kueue.x-k8s.io/v1beta2", "Workload", workload.meta.name, workload.meta.uid, true, true}};
  request.provisioning_class_name = api::kQueuedProvisioningClass;
  request.conditions = {TrueCondition("Accepted", "SuccessfullyQueued",
                                      "Provisioning Request was successfully queued.", reserved_at),
                        FalseCondition("Provisioned", "ResourcePoolExhausted",
                                       "Waiting for resources.", reserved_at)};
  view.provisioning_requests = {request};
  view.node_pools = {{.name = "dws-t4-nodepool",
                      .machine_type = "n1-standard-2",
                      .accelerator_type = "T4",
                      .accelerator_count = 1,
                      .queued_provisioning = true,
                      .max_nodes = 1,
                      .stock = 1,
                      .node_count = 0},
                     {.name = "dws-h100-nodepool",
                      .machine_type = "a3-highgpu-8g",
                      .accelerator_type = "H100",
                      .accelerator_count = 8,
                      .queued_provisioning = true,
                      .max_nodes = 1,
                      .stock = 0,
                      .node_count = 0}};
  view.jobs = {MakeJob(workload)};
  view.workloads = {workload};
  return view;
}

}  // namespace berth::view

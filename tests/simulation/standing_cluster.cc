#include "tests/simulation/standing_cluster.h"

#include "api/condition.h"
#include "api/reasons.h"

namespace berth::simulation {
namespace {

constexpr api::Amount kMilliCpus = 1000;

}  // namespace

void AddCondition(api::Workload& workload, const std::string& type, bool value,
                  const std::string& reason, std::int64_t seconds_ago) {
  api::SetCondition(workload.status.conditions,
                    {.type = type,
                     .status = value ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
                     .reason = reason,
                     .message = "",
                     .last_transition_time = kNow - std::chrono::seconds(seconds_ago)});
}

api::Workload WaitingWorkload(const std::string& name, const std::string& queue, int cpus,
                              std::int64_t age) {
  api::Workload workload;
  workload.meta.name = "job-" + name;
  workload.meta.namespace_name = "team";
  workload.meta.uid = "uid-" + name;
  workload.meta.generation = 1;
  workload.meta.creation_timestamp = kNow - std::chrono::seconds(age);
  api::OwnerReference owner;
  owner.api_version = "batch/v1";
  owner.kind = "Job";
  owner.name = name;
  owner.uid = "job-uid-" + name;
  owner.controller = true;
  workload.meta.owner_references = {owner};
  workload.spec.queue_name = queue;
  workload.spec.priority = 0;
  api::PodSet pods;
  api::Container container;
  container.name = "main";
  container.requests = {{"cpu", cpus * kMilliCpus}};
  pods.pod_template.spec.containers = {container};
  workload.spec.pod_sets = std::vector<api::PodSet>{pods};
  return workload;
}

api::Workload RunningWorkload(const std::string& name, const std::string& queue, int cpus,
                              std::int64_t elapsed) {
  api::Workload workload = WaitingWorkload(name, queue, cpus, elapsed + 1);
  api::Admission admission;
  admission.cluster_queue = queue;
  api::PodSetAssignment assignment;
  assignment.flavors = {{"cpu", "default"}};
  assignment.resource_usage = {{"cpu", cpus * kMilliCpus}};
  assignment.count = 1;
  admission.pod_set_assignments = {assignment};
  workload.status.admission = admission;
  AddCondition(workload, api::kQuotaReserved, true, api::kQuotaReserved, elapsed);
  AddCondition(workload, api::kAdmitted, true, api::kAdmitted, elapsed);
  return workload;
}

}  // namespace berth::simulation

// Fixtures of integrations/: a GPU Job in a queue, and its Workload.
#pragma once

#include <optional>
#include <string>

#include "api/job.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "integrations/batch_job.h"
#include "integrations/workload_build.h"

namespace berth::integrations::testing {

inline WallTime At(int seconds) { return WallTime{std::chrono::seconds(1'700'000'000 + seconds)}; }

inline api::Job GpuJob(std::int32_t parallelism = 1, std::int32_t completions = 1) {
  api::Job job;
  job.meta = {.namespace_name = "default", .name = "train", .uid = "uid-1"};
  job.meta.labels[api::kQueueLabel] = "lq";
  job.suspend = true;
  job.parallelism = parallelism;
  job.completions = completions;
  api::Container main;
  main.name = "main";
  main.image = "image:1";
  main.requests = {{"cpu", 100}, {"nvidia.com/gpu", 1}};
  job.pod_template.spec.containers = {main};
  job.pod_template.spec.node_selector = {{"pool", "t4"}};
  job.pod_template.spec.tolerations = {
      {.key = "nvidia.com/gpu", .op = "Exists", .effect = "NoSchedule"}};
  return job;
}

inline api::Workload WorkloadFor(const api::Job& job) {
  return BuildWorkload(ViewOf(job), JobPriority{}, BuildOptions{});
}

inline void SetTrue(api::Workload& workload, const char* type, const std::string& reason = "R",
                    const std::string& message = "M") {
  api::SetCondition(workload.status.conditions, {.type = type,
                                                 .status = api::ConditionStatus::kTrue,
                                                 .reason = reason,
                                                 .message = message,
                                                 .last_transition_time = At(0)});
}

inline void Reserve(api::Workload& workload, const std::string& flavor = "spot") {
  api::Admission admission{.cluster_queue = "cq"};
  for (const api::PodSet& pods : workload.spec.pod_sets) {
    admission.pod_set_assignments.push_back({.name = pods.name,
                                             .flavors = {{"nvidia.com/gpu", flavor}},
                                             .resource_usage = {{"nvidia.com/gpu", pods.count}},
                                             .count = pods.count});
  }
  workload.status.admission = admission;
  SetTrue(workload, api::kQuotaReserved);
}

inline void Admit(api::Workload& workload) {
  Reserve(workload);
  SetTrue(workload, api::kAdmitted);
}

inline FlavorsByName SpotFlavor() {
  api::ResourceFlavor flavor;
  flavor.meta.name = "spot";
  flavor.node_labels = {{"capacity", "spot"}};
  flavor.tolerations = {{.key = "spot", .op = "Exists"}};
  return {{"spot", flavor}};
}

}  // namespace berth::integrations::testing

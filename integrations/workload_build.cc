#include "integrations/workload_build.h"

#include <string_view>
#include <utility>
#include <vector>

#include "api/checkpoint.h"
#include "api/deadline.h"
#include "api/job_user.h"
#include "api/labels.h"
#include "api/pod_groups.h"
#include "api/provisioning_labels.h"
#include "api/reasons.h"
#include "base/strings.h"
#include "integrations/env_names.h"
#include "integrations/workload_name.h"

namespace berth::integrations {
namespace {

api::StringMap CopiedAnnotations(const api::StringMap& annotations) {
  api::StringMap copied;
  const std::string_view prefix = api::kProvisioningParameterPrefix;
  for (const auto& [key, value] : annotations) {
    if (key.compare(0, prefix.size(), prefix) == 0 || key == api::kAdmissionGatedByAnnotation ||
        key == api::kDivisibleAnnotation || key == api::kUserAnnotation ||
        key == api::kCheckpointEveryAnnotation || key == api::kDeadlineAnnotation) {
      copied.emplace(key, value);
    }
  }
  return copied;
}

enum class Tolerations { kCompare, kIgnore };

bool SameSpec(const api::PodSpec& a, const api::PodSpec& b, Tolerations tolerations) {
  if (tolerations == Tolerations::kCompare && a.tolerations != b.tolerations) return false;
  return a.containers == b.containers && a.init_containers == b.init_containers;
}

bool SamePodSets(const std::vector<api::JobPodSet>& a, const std::vector<api::PodSet>& b,
                 Tolerations tolerations) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].count != b[i].count || a[i].min_count != b[i].min_count ||
        !SameSpec(a[i].pod_template.spec, b[i].pod_template.spec, tolerations)) {
      return false;
    }
  }
  return true;
}

// The pod sets that the running job should have; empty without quota.
std::vector<api::PodSet> RunningPodSets(const api::Workload& workload,
                                        const FlavorsByName& flavors) {
  if (!api::IsTrue(workload.status.conditions, api::kQuotaReserved)) return {};
  std::vector<api::PodSet> pod_sets = workload.spec.pod_sets;
  const auto changes = StartChanges(workload, flavors);
  for (std::size_t i = 0; changes && i < pod_sets.size(); ++i) {
    const PodSetChange& change = (*changes)[i];
    pod_sets[i].pod_template.spec.tolerations = change.tolerations;
    if (change.count_is_partial) pod_sets[i].count = change.count;
  }
  if (changes) return pod_sets;
  // A flavor is gone: its tolerations are unknown, only the counts can be compared.
  if (!workload.status.admission) return {};
  for (const api::PodSetAssignment& assigned : workload.status.admission->pod_set_assignments) {
    for (api::PodSet& pods : pod_sets) {
      if (pods.name == assigned.name && pods.min_count) pods.count = assigned.count;
    }
  }
  return pod_sets;
}

// All pods of a group own its Workload; none controls it.
void TakeGroup(const BarePods::Group& group, api::Workload& workload) {
  workload.meta.name = group.name;
  workload.meta.labels.erase(api::kJobUidLabel);
  workload.meta.annotations[api::kIsGroupWorkloadAnnotation] = "true";
  workload.meta.owner_references = group.owners;
}

}  // namespace

std::optional<std::int32_t> MaximumExecutionTimeOf(const api::ObjectMeta& meta) {
  const std::string* text = api::FindValue(meta.labels, api::kMaxExecTimeLabel);
  if (text == nullptr) return std::nullopt;
  const std::optional<std::int64_t> seconds = ParseInt64(*text);
  if (!seconds || *seconds <= 0 || *seconds > INT32_MAX) return std::nullopt;
  return static_cast<std::int32_t>(*seconds);
}

const std::string* PrebuiltWorkloadOf(const api::ObjectMeta& job) {
  const std::string* name = api::FindValue(job.annotations, api::kPrebuiltWorkloadLabel);
  return name != nullptr ? name : api::FindValue(job.labels, api::kPrebuiltWorkloadLabel);
}

std::string QueueNameOf(const JobView& job) {
  const std::string* name = api::FindValue(job.meta.labels, api::kQueueLabel);
  return name == nullptr ? "" : *name;
}

api::OwnerReference ReferenceTo(const JobView& job) {
  std::string api_version(job.kind->group);
  if (!api_version.empty()) api_version += '/';
  api_version += job.kind->version;
  return {.api_version = std::move(api_version),
          .kind = std::string(job.kind->kind),
          .name = job.meta.name,
          .uid = job.meta.uid,
          .controller = true,
          .block_owner_deletion = true};
}

api::Workload BuildWorkload(const JobView& job, const JobPriority& priority,
                            const BuildOptions& options) {
  api::Workload workload;
  workload.meta.namespace_name = job.meta.namespace_name;
  workload.meta.name = WorkloadName({.kind = job.kind->kind,
                                     .group = job.kind->group,
                                     .name = job.meta.name,
                                     .uid = job.meta.uid,
                                     .variant = job.elastic ? job.slice_variant : ""});
  for (const std::string& key : options.label_keys_to_copy) {
    if (const std::string* value = api::FindValue(job.meta.labels, key)) {
      workload.meta.labels[key] = *value;
    }
  }
  if (job.meta.uid.size() <= 63) workload.meta.labels[api::kJobUidLabel] = job.meta.uid;
  workload.meta.annotations = CopiedAnnotations(job.meta.annotations);
  for (const std::string& key : options.annotation_keys_to_copy) {
    if (const std::string* value = api::FindValue(job.meta.annotations, key)) {
      workload.meta.annotations[key] = *value;
    }
  }
  workload.meta.finalizers = {api::kResourceInUseFinalizer};
  workload.meta.owner_references = {ReferenceTo(job)};
  if (job.bare_pods && job.bare_pods->group) TakeGroup(*job.bare_pods->group, workload);
  std::vector<api::JobPodSet> pod_sets = job.pod_sets;
  for (api::JobPodSet& pods : pod_sets) DropDuplicateEnv(pods.json);
  api::SetPodSets(std::move(pod_sets), workload.spec);
  workload.spec.queue_name = QueueNameOf(job);
  workload.spec.priority_class_ref = priority.ref;
  workload.spec.priority = priority.value;
  workload.spec.maximum_execution_time_seconds = MaximumExecutionTimeOf(job.meta);
  return workload;
}

const api::OwnerReference* ParentOfPods(const api::ObjectMeta& workload) {
  if (workload.annotations.count(api::kIsGroupWorkloadAnnotation) == 0) return nullptr;
  for (const api::OwnerReference& owner : workload.owner_references) {
    if (!owner.controller && owner.kind != kPod.kind) return &owner;
  }
  return nullptr;
}

std::optional<api::OwnerReference> LostParentOf(const api::ObjectMeta& workload) {
  constexpr std::string_view kKind = ", Kind=";
  const std::string* gvk = api::FindValue(workload.annotations, api::kJobOwnerGvkAnnotation);
  const std::string* name = api::FindValue(workload.annotations, api::kJobOwnerNameAnnotation);
  if (gvk == nullptr || name == nullptr || OwningJobOf(workload) != nullptr ||
      workload.annotations.count(api::kIsGroupWorkloadAnnotation) == 0) {
    return std::nullopt;
  }
  const std::size_t comma = gvk->find(kKind);
  if (comma == std::string::npos) return std::nullopt;
  return api::OwnerReference{.api_version = gvk->substr(0, comma),
                             .kind = gvk->substr(comma + kKind.size()),
                             .name = *name};
}

const api::OwnerReference* OwningJobOf(const api::ObjectMeta& workload) {
  const api::OwnerReference* controller = api::ControllerOf(workload);
  return controller != nullptr ? controller : ParentOfPods(workload);
}

api::Workload BuildGroupWorkload(const JobView& parent, const std::string& name,
                                 std::optional<std::int32_t> group, const JobPriority& priority,
                                 const BuildOptions& options) {
  api::Workload workload = BuildWorkload(parent, priority, options);
  workload.meta.name = name;
  api::OwnerReference& owner = workload.meta.owner_references.front();
  owner.controller = false;
  owner.block_owner_deletion = false;
  api::StringMap& annotations = workload.meta.annotations;
  annotations[api::kIsGroupWorkloadAnnotation] = "true";
  annotations[api::kJobOwnerGvkAnnotation] = owner.api_version + ", Kind=" + owner.kind;
  annotations[api::kJobOwnerNameAnnotation] = parent.meta.name;
  if (group) annotations[api::kComponentWorkloadIndexAnnotation] = std::to_string(*group);
  return workload;
}

bool HasPodSetsOf(const JobView& job, const api::Workload& workload) {
  return SamePodSets(job.pod_sets, workload.spec.pod_sets, Tolerations::kCompare);
}

bool IsEquivalent(const JobView& job, const api::Workload& workload, const FlavorsByName& flavors) {
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  if (owner == nullptr || owner->uid != job.meta.uid) return false;
  if (workload.spec.maximum_execution_time_seconds != MaximumExecutionTimeOf(job.meta))
    return false;
  const Tolerations tolerations = api::IsTrue(workload.status.conditions, api::kAdmitted)
                                      ? Tolerations::kIgnore
                                      : Tolerations::kCompare;
  const std::vector<api::PodSet> running = RunningPodSets(workload, flavors);
  if (!running.empty()) {
    if (SamePodSets(job.pod_sets, running, tolerations)) return true;
    // The workload has quota and the job is not started yet, or has just been stopped.
    return job.suspended && SamePodSets(job.pod_sets, workload.spec.pod_sets, tolerations);
  }
  return SamePodSets(job.pod_sets, workload.spec.pod_sets, tolerations);
}

bool PlacesAlike(const JobView& job, const api::Workload& workload) {
  for (std::size_t i = 0; i < job.pod_sets.size(); ++i) {
    const api::PodSpec& now = job.pod_sets[i].pod_template.spec;
    const api::PodSpec& then = workload.spec.pod_sets[i].pod_template.spec;
    if (now.node_selector != then.node_selector ||
        now.required_node_affinity != then.required_node_affinity ||
        now.priority_class_name != then.priority_class_name ||
        now.runtime_class_name != then.runtime_class_name) {
      return false;
    }
  }
  return true;
}

bool IsMisplaced(const JobView& job, const api::Workload& workload) {
  const auto& conditions = workload.status.conditions;
  if (job.bare_pods && (job.bare_pods->group || job.finished)) return false;
  if (!job.suspended || api::IsTrue(conditions, api::kAdmitted) ||
      api::IsTrue(conditions, api::kFinished)) {
    return false;
  }
  const bool has_moved = QueueNameOf(job) != workload.spec.queue_name && !job.active &&
                         api::IsTrue(conditions, api::kQuotaReserved);
  return has_moved || !PlacesAlike(job, workload);
}

}  // namespace berth::integrations

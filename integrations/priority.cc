#include "integrations/priority.h"

#include "api/labels.h"

namespace berth::integrations {
namespace {

api::PriorityClassRef PodClassRef(const std::string& name) {
  return {.group = "scheduling.k8s.io", .kind = "PriorityClass", .name = name};
}

std::string PodPriorityClass(const JobView& job) {
  if (!job.priority_class.empty()) return job.priority_class;
  for (const api::PodSet& pods : job.pod_sets) {
    const std::string& name = pods.pod_template.spec.priority_class_name;
    if (!name.empty()) return name;
  }
  return "";
}

// The global default; if there are several, the one of lowest value, by name among equals.
JobPriority DefaultPriority(const PriorityClassesByName& classes) {
  const api::PriorityClass* found = nullptr;
  for (const auto& [name, each] : classes) {
    if (each.global_default && (found == nullptr || each.value < found->value)) found = &each;
  }
  if (found == nullptr) return {};
  return {PodClassRef(found->meta.name), found->value};
}

}  // namespace

Result<JobPriority> PriorityOf(const JobView& job, const PriorityClassesByName& workload_classes,
                               const PriorityClassesByName& pod_classes) {
  if (const std::string* name = api::FindValue(job.meta.labels, api::kPriorityClassLabel);
      name != nullptr && !name->empty()) {
    const auto found = workload_classes.find(*name);
    if (found == workload_classes.end()) {
      return Error{ErrorCode::kNotFound, "WorkloadPriorityClass \"" + *name + "\" not found"};
    }
    return JobPriority{
        api::PriorityClassRef{
            .group = "kueue.x-k8s.io", .kind = "WorkloadPriorityClass", .name = *name},
        found->second.value};
  }
  const std::string name = PodPriorityClass(job);
  if (name.empty()) return DefaultPriority(pod_classes);
  const auto found = pod_classes.find(name);
  if (found == pod_classes.end()) {
    return Error{ErrorCode::kNotFound, "PriorityClass \"" + name + "\" not found"};
  }
  return JobPriority{PodClassRef(name), found->second.value};
}

}  // namespace berth::integrations

#include "provisioning/pod_sets.h"

#include <algorithm>
#include <set>

#include "api/job_pod_set.h"
#include "api/labels.h"

namespace berth::provisioning {
namespace {

using MergePolicy = api::ProvisioningRequestConfig::MergePolicy;

bool Uses(const api::Container& container, const std::vector<api::ResourceName>& resources) {
  return std::any_of(resources.begin(), resources.end(), [&container](const auto& resource) {
    return container.requests.count(resource) != 0 || container.limits.count(resource) != 0;
  });
}

bool Uses(const api::PodSpec& spec, const std::vector<api::ResourceName>& resources) {
  if (resources.empty()) return true;
  const auto uses = [&resources](const api::Container& each) { return Uses(each, resources); };
  return std::any_of(spec.containers.begin(), spec.containers.end(), uses) ||
         std::any_of(spec.init_containers.begin(), spec.init_containers.end(), uses);
}

const api::PodSetAssignment* AssignmentOf(const api::Workload& workload, const std::string& name) {
  if (!workload.status.admission) return nullptr;
  for (const api::PodSetAssignment& each : workload.status.admission->pod_set_assignments) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

// A missing request gets the limit's value, as the API server does for pods.
void FillRequests(std::vector<api::Container>& containers) {
  for (api::Container& container : containers) {
    container.requests.insert(container.limits.begin(), container.limits.end());
  }
}

api::PodTemplate TemplateFor(const api::WorkloadSpec& spec, std::size_t index,
                             const api::PodSetAssignment* assignment,
                             const FlavorsByName& flavors) {
  api::PodTemplate result = api::TemplateOf(spec, index);
  std::set<std::string> names;
  if (assignment != nullptr) {
    for (const auto& [resource, flavor] : assignment->flavors) names.insert(flavor);
  }
  for (const std::string& name : names) {
    const auto flavor = flavors.find(name);
    if (flavor == flavors.end()) continue;
    for (const auto& [key, value] : flavor->second.node_labels) {
      result.spec.node_selector[key] = value;
    }
    auto& tolerations = result.spec.tolerations;
    for (const api::Toleration& each : flavor->second.tolerations) {
      if (std::find(tolerations.begin(), tolerations.end(), each) == tolerations.end()) {
        tolerations.push_back(each);
      }
    }
  }
  FillRequests(result.spec.containers);
  FillRequests(result.spec.init_containers);
  return result;
}

bool SameRequests(const std::vector<api::Container>& a, const std::vector<api::Container>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.requests == y.requests; });
}

bool MayMerge(const api::PodTemplate& a, const api::PodTemplate& b, MergePolicy policy) {
  switch (policy) {
    case MergePolicy::kNone: return false;
    case MergePolicy::kIdenticalPodTemplates: {
      const bool same_text = a.json == b.json || (a.json && b.json && *a.json == *b.json);
      return same_text && a.labels == b.labels && a.annotations == b.annotations &&
             a.spec == b.spec;
    }
    case MergePolicy::kIdenticalWorkloadSchedulingRequirements:
      return SameRequests(a.spec.containers, b.spec.containers) &&
             SameRequests(a.spec.init_containers, b.spec.init_containers) &&
             a.spec.pod_requests == b.spec.pod_requests &&
             a.spec.node_selector == b.spec.node_selector &&
             a.spec.tolerations == b.spec.tolerations &&
             a.spec.required_node_affinity == b.spec.required_node_affinity;
  }
  return false;
}

void AddUnlessSet(const api::StringMap& user, const char* key, const char* value,
                  api::StringMap& into) {
  if (user.count(key) == 0) into[key] = value;
}

bool Covers(const std::vector<PodSetGroup>& groups, const api::PodSet& pods) {
  return std::any_of(groups.begin(), groups.end(), [&pods](const auto& group) {
    return std::find(group.names.begin(), group.names.end(), pods.name) != group.names.end();
  });
}

void TolerateQueuedNodes(const api::PodSet& pods, api::PodSetUpdate& update) {
  const api::Taint queued{.key = api::kGkeQueuedTaint, .value = "true", .effect = "NoSchedule"};
  const auto& tolerations = pods.pod_template.spec.tolerations;
  if (std::any_of(tolerations.begin(), tolerations.end(),
                  [&queued](const auto& each) { return api::Tolerates(each, queued); })) {
    return;
  }
  update.tolerations.push_back(
      {.key = api::kGkeQueuedTaint, .op = "Exists", .effect = "NoSchedule"});
}

}  // namespace

bool UsesManaged(const api::PodSpec& spec, const api::ProvisioningRequestConfig& config) {
  return Uses(spec, config.managed_resources);
}

void AddProtection(const api::StringMap& user, api::StringMap& into) {
  AddUnlessSet(user, api::kSafeToEvictAnnotation, "false", into);
  AddUnlessSet(user, api::kDoNotDisruptAnnotation, "true", into);
}

std::vector<std::string> FlavorsOf(const api::Workload& workload) {
  std::vector<std::string> flavors;
  if (!workload.status.admission) return flavors;
  for (const auto& pods : workload.status.admission->pod_set_assignments) {
    for (const auto& [resource, flavor] : pods.flavors) {
      if (std::find(flavors.begin(), flavors.end(), flavor) == flavors.end()) {
        flavors.push_back(flavor);
      }
    }
  }
  return flavors;
}

std::vector<PodSetGroup> RequiredPodSets(const api::Workload& workload,
                                         const api::ProvisioningRequestConfig& config,
                                         const FlavorsByName& flavors) {
  std::vector<PodSetGroup> groups;
  for (std::size_t i = 0; i < workload.spec.pod_sets.size(); ++i) {
    const api::PodSet& pods = workload.spec.pod_sets[i];
    const api::PodSetAssignment* assignment = AssignmentOf(workload, pods.name);
    const std::int32_t count = assignment != nullptr ? assignment->count : pods.count;
    if (count <= 0 || !UsesManaged(pods.pod_template.spec, config)) continue;
    api::PodTemplate pod_template = TemplateFor(workload.spec, i, assignment, flavors);
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const PodSetGroup& each) {
      return MayMerge(each.pod_template, pod_template, config.pod_set_merge_policy);
    });
    if (same != groups.end()) {
      same->names.push_back(pods.name);
      same->count += count;
      continue;
    }
    groups.push_back({{pods.name}, count, std::move(pod_template)});
  }
  return groups;
}

std::vector<api::PodSetUpdate> PodSetUpdates(const api::Workload& workload,
                                             const std::vector<PodSetGroup>& groups,
                                             const api::ProvisioningRequest& request,
                                             const api::ProvisioningRequestConfig& config,
                                             const UpdateOptions& options) {
  std::vector<api::PodSetUpdate> updates;
  for (const api::PodSet& pods : workload.spec.pod_sets) {
    if (!Covers(groups, pods)) continue;
    api::PodSetUpdate update{.name = pods.name};
    update.annotations = {{api::kConsumeProvisioningRequestAnnotation, request.meta.name},
                          {api::kProvisioningClassAnnotation, request.provisioning_class_name}};
    if (options.protect_pods) AddProtection(pods.pod_template.annotations, update.annotations);
    for (const auto& each : config.node_selector_updates) {
      const std::string* value = api::FindValue(request.provisioning_class_details,
                                                each.value_from_provisioning_class_detail);
      if (value != nullptr) update.node_selector[each.key] = *value;
    }
    const std::string* zone =
        api::FindValue(request.meta.annotations, api::kProvisioningZoneAnnotation);
    if (zone != nullptr) update.node_selector[api::kZoneLabel] = *zone;
    if (request.provisioning_class_name == api::kQueuedProvisioningClass) {
      TolerateQueuedNodes(pods, update);
    }
    updates.push_back(std::move(update));
  }
  return updates;
}

std::vector<api::PodSetUpdate> LeaseUpdates(const api::Workload& workload,
                                            const std::vector<PodSetGroup>& groups,
                                            const std::string& holder,
                                            const UpdateOptions& options) {
  std::vector<api::PodSetUpdate> updates;
  for (const api::PodSet& pods : workload.spec.pod_sets) {
    if (!Covers(groups, pods)) continue;
    api::PodSetUpdate update{.name = pods.name};
    update.node_selector = {{api::kLeaseLabel, holder}};
    if (options.protect_pods) AddProtection(pods.pod_template.annotations, update.annotations);
    TolerateQueuedNodes(pods, update);
    updates.push_back(std::move(update));
  }
  return updates;
}

}  // namespace berth::provisioning

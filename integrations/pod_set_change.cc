#include "integrations/pod_set_change.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "api/labels.h"
#include "api/reasons.h"
#include "api/topology_annotations.h"
#include "integrations/job_slices.h"

namespace berth::integrations {
namespace {

Error Conflict(std::string_view what, const std::string& key, const std::string& have,
               const std::string& want) {
  return Error{ErrorCode::kInvalid, "invalid podset infos: conflict for " + std::string(what) +
                                        ": conflict for key=" + key + ", value1=" + have +
                                        ", value2=" + want};
}

Status MergeMap(std::string_view what, const api::StringMap& from, api::StringMap& into) {
  for (const auto& [key, value] : from) {
    const auto [at, added] = into.emplace(key, value);
    if (!added && at->second != value) return Conflict(what, key, at->second, value);
  }
  return OkStatus();
}

void AddTolerations(const std::vector<api::Toleration>& from, std::vector<api::Toleration>& into) {
  for (const api::Toleration& toleration : from) {
    if (std::find(into.begin(), into.end(), toleration) == into.end()) into.push_back(toleration);
  }
}

// Whether `text` is a valid label value.
bool IsLabelValue(std::string_view text) {
  const auto alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  if (text.empty()) return true;
  if (text.size() > 63 || !alphanumeric(text.front()) || !alphanumeric(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

Status AddFlavors(const api::PodSetAssignment& assignment, const FlavorsByName& flavors,
                  PodSetChange& change) {
  std::set<std::string> names;
  for (const auto& [resource, flavor] : assignment.flavors) names.insert(flavor);
  for (const std::string& name : names) {
    const auto flavor = flavors.find(name);
    if (flavor == flavors.end()) {
      return Error{ErrorCode::kNotFound, "ResourceFlavor " + name + " does not exist"};
    }
    BERTH_CHECK_OK(MergeMap("nodeSelector", flavor->second.node_labels, change.node_selector));
    AddTolerations(flavor->second.tolerations, change.tolerations);
  }
  return OkStatus();
}

Status AddChecks(const api::Workload& workload, PodSetChange& change) {
  for (const api::AdmissionCheckState& check : workload.status.admission_checks) {
    for (const api::PodSetUpdate& update : check.pod_set_updates) {
      if (update.name != change.name) continue;
      const std::string context = "in admission check \"" + check.name + "\"";
      for (const auto& [what, from, into] :
           {std::tuple{"labels", &update.labels, &change.labels},
            std::tuple{"annotations", &update.annotations, &change.annotations},
            std::tuple{"nodeSelector", &update.node_selector, &change.node_selector}}) {
        if (Status merged = MergeMap(what, *from, *into); !merged) {
          return Annotate(merged.error(), context);
        }
      }
      AddTolerations(update.tolerations, change.tolerations);
    }
  }
  return OkStatus();
}

Status AddQueueLabels(const api::Workload& workload, PodSetChange& change) {
  api::StringMap labels{{api::kPodSetLabel, change.name}};
  if (IsLabelValue(workload.status.admission->cluster_queue)) {
    labels[api::kClusterQueueNameLabel] = workload.status.admission->cluster_queue;
  }
  if (IsLabelValue(workload.spec.queue_name)) {
    labels[api::kLocalQueueNameLabel] = workload.spec.queue_name;
  }
  return MergeMap("labels", labels, change.labels);
}

void KeepCount(PodSetChange& change) {
  change.labels.clear();
  change.annotations.clear();
  change.node_selector.clear();
  change.tolerations.clear();
}

// `asked`: the pod set asks for a topology. If it does not, the annotation tells that the nodes of
// the pods are in an assignment. The template of a prebuilt Workload may ask all the same: two
// requests are refused.
void AddTopology(const api::PodSetAssignment& assignment, bool asked, PodSetChange& change) {
  if (!assignment.topology_assignment && assignment.delayed_topology_request.empty()) return;
  change.is_placed = true;
  if (!asked && !api::AsksForTopology(change.annotations)) {
    change.annotations.emplace(api::kUnconstrainedTopologyAnnotation, "true");
  }
  std::vector<std::string>& gates = change.scheduling_gates;
  if (std::find(gates.begin(), gates.end(), api::kTopologyGate) == gates.end()) {
    gates.emplace_back(api::kTopologyGate);
  }
}

bool IsGatedAsSlice(const PodSetChange& change) {
  const std::vector<std::string>& gates = change.scheduling_gates;
  return std::find(gates.begin(), gates.end(), api::kElasticJobGate) != gates.end();
}

// Pods with the elastic gate get the annotations of the request when the gate is removed: those of
// the slice that lets them run, and not of the slice that started the job.
void DropRequest(PodSetChange& change) {
  change.annotations.erase(api::kConsumeProvisioningRequestAnnotation);
  change.annotations.erase(api::kProvisioningClassAnnotation);
}

void AddSlice(const api::Workload& workload, PodSetChange& change) {
  change.annotations[api::kSliceNameAnnotation] = ChainOf(workload);
  if (IsGatedAsSlice(change)) DropRequest(change);
}

// The assignment with the pod set's name. If another writer has used other names, it is the
// assignment at the pod set's position, whose name becomes the label of the pods; Kueue does the
// same.
const api::PodSetAssignment* AssignmentOf(const api::Admission& admission,
                                          const PodSetChange& change, std::size_t place) {
  const auto& assignments = admission.pod_set_assignments;
  for (const api::PodSetAssignment& assignment : assignments) {
    if (assignment.name == change.name) return &assignment;
  }
  return place < assignments.size() ? &assignments[place] : nullptr;
}

}  // namespace

Result<std::vector<PodSetChange>> StartChanges(const api::Workload& workload,
                                               const FlavorsByName& flavors, WorkloadNameRule rule,
                                               StartTarget target) {
  std::vector<PodSetChange> changes = OriginalPodSets(workload);
  if (target == StartTarget::kPods) {
    for (PodSetChange& change : changes) KeepCount(change);
  }
  if (!workload.status.admission) return changes;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    PodSetChange& change = changes[i];
    const api::PodSetAssignment* assignment = AssignmentOf(*workload.status.admission, change, i);
    if (assignment == nullptr) {
      return Error{ErrorCode::kInvalid,
                   "invalid podset infos: pod set " + change.name + " has no assignment"};
    }
    change.name = assignment->name;
    change.count = assignment->count;
    BERTH_CHECK_OK(AddFlavors(*assignment, flavors, change));
    BERTH_CHECK_OK(AddChecks(workload, change));
    BERTH_CHECK_OK(AddQueueLabels(workload, change));
    const api::PodSet& pods = workload.spec.pod_sets[i];
    const bool asked =
        api::AsksForTopology(pods) || api::AsksForTopology(pods.pod_template.annotations);
    AddTopology(*assignment, asked, change);
    if (rule == WorkloadNameRule::kAnnotate) {
      change.annotations[api::kWorkloadAnnotation] = workload.meta.name;
    }
    if (IsSlice(workload)) AddSlice(workload, change);
  }
  return changes;
}

void GateSlices(const JobView& job, std::vector<PodSetChange>& changes) {
  if (!job.elastic || job.kind != &kBatchJob) return;
  for (PodSetChange& change : changes) {
    if (IsGatedAsSlice(change)) continue;
    change.scheduling_gates.emplace_back(api::kElasticJobGate);
    DropRequest(change);
  }
}

PodSetChange OriginalPodSet(const api::PodSet& pods) {
  const api::PodTemplateFields& source = pods.pod_template;
  return {.name = pods.name,
          .count = pods.count,
          .count_is_partial = pods.min_count.has_value(),
          .labels = source.labels,
          .annotations = source.annotations,
          .node_selector = source.spec.node_selector,
          .tolerations = source.spec.tolerations,
          .scheduling_gates = source.spec.scheduling_gates};
}

std::vector<PodSetChange> OriginalPodSets(const api::Workload& workload) {
  std::vector<PodSetChange> changes;
  for (const api::PodSet& pods : workload.spec.pod_sets) changes.push_back(OriginalPodSet(pods));
  return changes;
}

bool IsOriginal(const JobView& job, const api::Workload& workload) {
  return std::equal(job.pod_sets.begin(), job.pod_sets.end(), workload.spec.pod_sets.begin(),
                    workload.spec.pod_sets.end(),
                    [](const api::PodSet& now, const api::PodSet& then) {
                      PodSetChange shown = OriginalPodSet(now);
                      const PodSetChange stored = OriginalPodSet(then);
                      if (!stored.count_is_partial)
                        shown.count = stored.count;  // only the owner changes the count
                      return shown == stored;
                    });
}

bool WasStarted(const JobView& job, const api::Workload& workload) {
  if (IsOriginal(job, workload)) return false;
  if (api::IsTrue(workload.status.conditions, api::kAdmitted)) return true;
  const std::size_t sets = std::min(job.pod_sets.size(), workload.spec.pod_sets.size());
  for (std::size_t i = 0; i < sets; ++i) {
    if (job.pod_sets[i].pod_template.labels.contains(api::kPodSetLabel) &&
        !workload.spec.pod_sets[i].pod_template.labels.contains(api::kPodSetLabel)) {
      return true;
    }
  }
  return false;
}

}  // namespace berth::integrations

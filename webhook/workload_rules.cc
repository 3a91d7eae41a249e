#include "webhook/workload_rules.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/holds.h"
#include "api/job_pod_set.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "api/reclaimable.h"
#include "base/strings.h"
#include "webhook/quota_rules.h"

namespace berth::webhook {
namespace {

bool IsReserved(const api::Workload& workload) {
  return api::IsTrue(workload.status.conditions, api::kQuotaReserved);
}

// Members that are null mean nothing in a pod template.
bool SameTemplate(const api::WorkloadSpec& now, const api::WorkloadSpec& before, std::size_t i) {
  const auto text = api::TextOf(now, i);
  const auto text_before = api::TextOf(before, i);
  if (text && text_before) {
    return *text == *text_before ||
           api::Encode(api::TemplateOf(now, i)) == api::Encode(api::TemplateOf(before, i));
  }
  const api::PodTemplateFields& a = now.pod_sets[i].pod_template;
  const api::PodTemplateFields& b = before.pod_sets[i].pod_template;
  return a.labels == b.labels && a.annotations == b.annotations && a.spec == b.spec;
}

enum class Counts : std::uint8_t { kFixed, kMayFall };

bool MayFollow(const api::WorkloadSpec& now, const api::WorkloadSpec& before, Counts counts) {
  if (now.pod_sets.size() != before.pod_sets.size()) return false;
  for (std::size_t i = 0; i < now.pod_sets.size(); ++i) {
    const api::PodSet& x = now.pod_sets[i];
    const api::PodSet& y = before.pod_sets[i];
    const bool fits = counts == Counts::kFixed ? x.count == y.count : x.count <= y.count;
    if (!fits || x.name != y.name || x.min_count != y.min_count ||
        x.topology_request != y.topology_request || !SameTemplate(now, before, i)) {
      return false;
    }
  }
  return true;
}

bool IsSlice(const api::Workload& workload) {
  const std::string* elastic =
      api::FindValue(workload.meta.annotations, api::kElasticJobAnnotation);
  return elastic != nullptr && *elastic == "true";
}

const api::PodSet* PodSetNamed(const api::Workload& workload, const std::string& name) {
  for (const api::PodSet& each : workload.spec.pod_sets) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

// Collects the errors of one Workload.
class WorkloadRules {
 public:
  WorkloadRules(const api::Workload& workload, const api::Workload* old, const ReviewGates& gates)
      : new_(workload),
        old_(old),
        gates_(gates),
        is_slice_(gates.elastic_jobs && IsSlice(old == nullptr ? workload : *old)) {}

  FieldErrors Run() {
    CheckPodSets();
    CheckAdmission();
    CheckReclaimable();
    CheckUpdates();
    CheckAnnotations();
    if (old_ != nullptr) CheckChange();
    return std::move(errors_);
  }

 private:
  void Add(std::string error) { errors_.push_back(std::move(error)); }

  void CheckPodSets() {
    const Path path("spec.podSets");
    int with_min_count = 0;
    for (std::size_t i = 0; i < new_.spec.pod_sets.size(); ++i) {
      const api::PodSet& pods = new_.spec.pod_sets[i];
      const Path at = path.Index(i);
      if (pods.min_count && is_slice_) {
        Add(Forbidden(at.Child("minCount"), "is not supported for elastic workloads"));
      }
      if (pods.min_count) {
        ++with_min_count;
        if (*pods.min_count > pods.count) {
          Add(Invalid(at, Quoted(pods.name),
                      "minCount should be positive and less or equal to count"));
        }
      }
      CheckTemplate(pods.pod_template, at.Child("template"));
      const auto& request = pods.topology_request;
      if (request &&
          request->slice_size.has_value() != request->slice_required_topology.has_value()) {
        Add(Required(at.Child("topologyRequest"),
                     "podSetSliceSize and podSetSliceRequiredTopology must be set together"));
      }
    }
    if (with_min_count > 1) {
      Add(Invalid(path, std::to_string(with_min_count), "at most one podSet can use minCount"));
    }
  }

  void CheckLabels(const api::StringMap& labels, const Path& path) {
    for (const auto& [key, value] : labels) {
      if (const std::string problem = QualifiedNameProblem(key); !problem.empty()) {
        Add(Invalid(path, Quoted(key), problem));
      }
      if (const std::string problem = LabelValueProblem(value); !problem.empty()) {
        Add(Invalid(path, Quoted(value), problem));
      }
    }
  }

  void CheckAnnotationKeys(const api::StringMap& annotations, const Path& path) {
    for (const auto& [key, value] : annotations) {
      if (const std::string problem = QualifiedNameProblem(ToLower(key)); !problem.empty()) {
        Add(Invalid(path, Quoted(key), problem));
      }
    }
  }

  void CheckTemplate(const api::PodTemplateFields& pod_template, const Path& path) {
    CheckLabels(pod_template.labels, path.Child("metadata.labels"));
    CheckAnnotationKeys(pod_template.annotations, path.Child("metadata.annotations"));
    CheckContainers(pod_template.spec.init_containers, path.Child("spec.initContainers"));
    CheckContainers(pod_template.spec.containers, path.Child("spec.containers"));
    CheckRequests(pod_template.spec.pod_requests, path.Child("spec.resources.requests"));
    CheckRequests(pod_template.spec.pod_limits, path.Child("spec.resources.limits"));
    CheckAmounts(pod_template.spec.overhead, path.Child("spec.overhead"));
  }

  void CheckAmounts(const api::ResourceAmounts& amounts, const Path& path) {
    for (const auto& [resource, amount] : amounts) {
      if (amount >= 0) continue;
      Add(Invalid(path.Key(resource), Quoted(api::FormatAmount(resource, amount)), kNegative));
    }
  }

  // Limits count too: they are the requests where those are missing.
  void CheckRequests(const api::ResourceAmounts& amounts, const Path& path) {
    CheckAmounts(amounts, path);
    if (amounts.contains("pods")) {
      Add(Invalid(path.Key("pods"), Quoted("pods"), "the key is reserved for internal kueue use"));
    }
  }

  void CheckContainers(const std::vector<api::Container>& containers, const Path& path) {
    for (std::size_t i = 0; i < containers.size(); ++i) {
      CheckRequests(containers[i].requests, path.Index(i).Child("resources.requests"));
      CheckRequests(containers[i].limits, path.Index(i).Child("resources.limits"));
    }
  }

  void CheckAdmission() {
    const Path path("status.admission");
    const bool was_broken = old_ != nullptr && IsReserved(*old_) && !old_->status.admission;
    if (IsReserved(new_) && !new_.status.admission && !was_broken) {
      Add(Required(path, "must be set when quota is reserved"));
    }
    if (!new_.status.admission) return;
    const auto& assignments = new_.status.admission->pod_set_assignments;
    if (IsReserved(new_) && assignments.size() != new_.spec.pod_sets.size()) {
      Add(Invalid(path.Child("podSetAssignments"), std::to_string(assignments.size()),
                  "podSetAssignments must have the same number of podSets as the spec"));
    }
    for (std::size_t i = 0; i < assignments.size(); ++i) {
      const Path at = path.Child("podSetAssignments").Index(i);
      if (PodSetNamed(new_, assignments[i].name) == nullptr) {
        Add(Invalid(at.Child("name"), Quoted(assignments[i].name),
                    "must be the name of a podSet of the spec"));
      }
      CheckAmounts(assignments[i].resource_usage, at.Child("resourceUsage"));
      const std::int64_t count = assignments[i].count;
      for (const auto& [resource, amount] : assignments[i].resource_usage) {
        if (count > 0 && amount % count != 0) {
          Add(Invalid(at.Child("resourceUsage").Key(resource),
                      Quoted(api::FormatAmount(resource, amount)),
                      "is not a multiple of " + std::to_string(count)));
        }
      }
    }
  }

  void CheckReclaimable() {
    const Path path("status.reclaimablePods");
    for (const api::ReclaimablePod& each : new_.status.reclaimable_pods) {
      const api::PodSet* pods = PodSetNamed(new_, each.pod_set);
      const Path at = path.Key(each.pod_set);
      if (pods == nullptr) {
        std::vector<std::string> names;
        for (const api::PodSet& known : new_.spec.pod_sets) names.push_back(known.name);
        Add(Unsupported(at.Child("name"), Quoted(each.pod_set), names));
      } else if (each.count > pods->count && !(is_slice_ && WasReclaimable(each))) {
        Add(Invalid(at.Child("count"), std::to_string(each.count),
                    "should be less or equal to " + std::to_string(pods->count)));
      }
    }
  }

  // An elastic job was scaled down below its reclaimable pods: a later write caps their number.
  bool WasReclaimable(const api::ReclaimablePod& pods) const {
    if (old_ == nullptr) return false;
    const auto& before = old_->status.reclaimable_pods;
    return std::find(before.begin(), before.end(), pods) != before.end();
  }

  void CheckUpdates() {
    const Path path("status.admissionChecks");
    for (std::size_t i = 0; i < new_.status.admission_checks.size(); ++i) {
      const auto& updates = new_.status.admission_checks[i].pod_set_updates;
      for (std::size_t j = 0; j < updates.size(); ++j) {
        const Path at = path.Index(i).Child("podSetUpdates").Index(j);
        if (PodSetNamed(new_, updates[j].name) == nullptr) {
          Add(Invalid(at.Child("name"), Quoted(updates[j].name),
                      "must be the name of a podSet of the spec"));
        }
        CheckLabels(updates[j].labels, at.Child("labels"));
        CheckLabels(updates[j].node_selector, at.Child("nodeSelector"));
        CheckAnnotationKeys(updates[j].annotations, at.Child("annotations"));
        for (std::string& error :
             ValidateTolerations(updates[j].tolerations, at.Child("tolerations"))) {
          Add(std::move(error));
        }
      }
    }
  }

  std::set<std::string> Gates(const api::Workload& workload) {
    if (!api::IsGated(workload)) return {};
    const std::vector<std::string> gates = api::AdmissionGatesOf(workload.meta);
    return {gates.begin(), gates.end()};
  }

  void CheckAnnotations() {
    const Path path("metadata.annotations");
    const std::set<std::string> gates = Gates(new_);
    for (const std::string& gate : gates) {
      if (const std::string problem = QualifiedNameProblem(gate); !problem.empty()) {
        Add(Invalid(path.Key(api::kAdmissionGatedByAnnotation), Quoted(gate), problem));
      }
    }
    if (old_ != nullptr) {
      const std::set<std::string> before = Gates(*old_);
      if (!std::includes(before.begin(), before.end(), gates.begin(), gates.end())) {
        Add(Forbidden(path.Key(api::kAdmissionGatedByAnnotation),
                      "gates cannot be added after creation, only removed"));
      }
    }
    if (!gates_.priority_boost) return;
    const std::string* boost = api::FindValue(new_.meta.annotations, api::kPriorityBoostAnnotation);
    if (boost == nullptr) return;
    const std::optional<std::int64_t> more = ParseInt64(*boost);
    if (!more || *more < INT32_MIN || *more > INT32_MAX) {
      Add(Invalid(path.Key(api::kPriorityBoostAnnotation), Quoted(*boost),
                  "must be a signed integer of 32 bits"));
    }
  }

  void CheckChange() {
    const bool held = IsReserved(*old_);
    const bool keeps = held && IsReserved(new_);
    const Counts counts = gates_.elastic_jobs ? Counts::kMayFall : Counts::kFixed;
    if (held && !MayFollow(new_.spec, old_->spec, counts)) {
      Add(Invalid(Path("spec.podSets"), Quoted(new_.meta.name), kImmutable));
    }
    if (keeps && new_.spec.queue_name != old_->spec.queue_name) {
      Add(Invalid(Path("spec.queueName"), Quoted(new_.spec.queue_name),
                  "queueName is immutable while workload quota reserved"));
    }
    if (held) CheckPriorityClass();
    if (api::IsTrue(old_->status.conditions, api::kAdmitted) &&
        api::IsTrue(new_.status.conditions, api::kAdmitted) &&
        new_.spec.maximum_execution_time_seconds != old_->spec.maximum_execution_time_seconds) {
      Add(Invalid(Path("spec.maximumExecutionTimeSeconds"),
                  std::to_string(new_.spec.maximum_execution_time_seconds.value_or(0)),
                  "maximumExecutionTimeSeconds is immutable while admitted"));
    }
    if (old_->status.admission && new_.status.admission) CheckAdmissionChange();
    if (keeps) CheckReclaimableChange();
    CheckUpdatesChange();
  }

  void CheckPriorityClass() {
    const auto& before = old_->spec.priority_class_ref;
    const auto& now = new_.spec.priority_class_ref;
    const Path path("spec.priorityClassRef");
    if (before.has_value() != now.has_value()) {
      Add(Invalid(path, Quoted(now ? now->name : ""),
                  "priorityClassRef is immutable while workload quota reserved"));
      return;
    }
    if (!now) return;
    if (before->group != now->group || before->kind != now->kind) {
      Add(Invalid(path, Quoted(now->kind),
                  "priorityClassRef.group and kind are immutable while workload quota reserved"));
    } else if (now->group == "scheduling.k8s.io" && before->name != now->name) {
      Add(Invalid(path.Child("name"), Quoted(now->name),
                  "priorityClassRef.name is immutable for scheduling.k8s.io/priorityclass while "
                  "workload quota reserved"));
    }
  }

  // Allowed changes: set, clear, another topology assignment.
  void CheckAdmissionChange() {
    const auto plain = [](api::Admission admission) {
      for (api::PodSetAssignment& each : admission.pod_set_assignments) {
        each.topology_assignment.reset();
        each.delayed_topology_request.clear();
      }
      return admission;
    };
    if (plain(*old_->status.admission) != plain(*new_.status.admission)) {
      Add(Invalid(Path("status.admission"), Quoted(new_.status.admission->cluster_queue),
                  kImmutable));
    }
  }

  void CheckReclaimableChange() {
    for (const api::ReclaimablePod& before : old_->status.reclaimable_pods) {
      const auto& list = new_.status.reclaimable_pods;
      const auto now = std::find_if(list.begin(), list.end(), [&before](const auto& each) {
        return each.pod_set == before.pod_set;
      });
      const Path at = Path("status.reclaimablePods").Key(before.pod_set);
      if (is_slice_ && api::MayTakeBack(new_, before)) continue;
      if (now == list.end()) {
        Add(Required(at.Child("name"), "cannot be removed"));
      } else if (now->count < before.count) {
        Add(Invalid(at.Child("count"), std::to_string(now->count),
                    "cannot be less then " + std::to_string(before.count)));
      }
    }
  }

  // The updates of a Ready check are immutable while it stays Ready.
  void CheckUpdatesChange() {
    for (std::size_t i = 0; i < new_.status.admission_checks.size(); ++i) {
      const api::AdmissionCheckState& now = new_.status.admission_checks[i];
      for (const api::AdmissionCheckState& before : old_->status.admission_checks) {
        if (before.name == now.name && before.state == api::CheckState::kReady &&
            now.state == api::CheckState::kReady && before.pod_set_updates != now.pod_set_updates) {
          Add(Invalid(Path("status.admissionChecks").Index(i).Child("podSetUpdates"),
                      Quoted(now.name), kImmutable));
        }
      }
    }
  }

  const api::Workload& new_;
  const api::Workload* old_;
  const ReviewGates& gates_;
  const bool is_slice_;  // a slice of an elastic job
  FieldErrors errors_;
};

}  // namespace

FieldErrors ValidateWorkload(const api::Workload& workload, const api::Workload* old,
                             const ReviewGates& gates) {
  return WorkloadRules(workload, old, gates).Run();
}

}  // namespace berth::webhook

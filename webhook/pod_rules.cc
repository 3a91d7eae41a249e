#include "webhook/pod_rules.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/labels.h"
#include "api/pod_groups.h"
#include "api/pod_phase.h"
#include "base/strings.h"

namespace berth::webhook {
namespace {

using PodJson = nlohmann::json;

Path PodLabel(const char* key) { return Path("metadata.labels").Key(key); }
Path PodAnnotation(const char* key) { return Path("metadata.annotations").Key(key); }

bool IsQueuedByParent(const api::ObjectMeta& pod) {
  return pod.annotations.count(api::kPodSuspendingParentAnnotation) != 0;
}

struct GroupName {
  std::string name;  // empty: none
  bool by_annotation = false;
  Path path() const {
    return by_annotation ? PodAnnotation(api::kPodGroupNameLabel)
                         : PodLabel(api::kPodGroupNameLabel);
  }
};

GroupName GroupNameOf(const api::ObjectMeta& pod) {
  const std::string* name = api::FindValue(pod.annotations, api::kPodGroupNameLabel);
  if (name != nullptr) return {*name, true};
  name = api::FindValue(pod.labels, api::kPodGroupNameLabel);
  return {name == nullptr ? "" : *name, false};
}

PodJson& ObjectAt(PodJson& parent, const char* key) {
  PodJson& child = parent[key];
  if (!child.is_object()) child = PodJson::object();
  return child;
}

void AddGate(PodJson& spec, const char* gate) {
  PodJson& gates = spec["schedulingGates"];
  if (!gates.is_array()) gates = PodJson::array();
  for (const PodJson& each : gates) {
    if (each.is_object() && each.value("name", "") == gate) return;
  }
  gates.push_back({{"name", gate}});
}

// The labels that queueing adds, and the finalizer.
void Take(const api::StringMap& before, const ReviewedJob& job, PodJson& pod) {
  PodJson& metadata = ObjectAt(pod, "metadata");
  PodJson& labels = ObjectAt(metadata, "labels");
  for (const auto& [key, value] : job.meta.labels) {
    if (before.count(key) == 0) labels[key] = value;
  }
  labels[api::kManagedLabel] = "true";
  PodJson& finalizers = metadata["finalizers"];
  if (!finalizers.is_array()) finalizers = PodJson::array();
  if (std::find(finalizers.begin(), finalizers.end(), api::kManagedFinalizer) == finalizers.end()) {
    finalizers.push_back(api::kManagedFinalizer);
  }
}

void Gate(const api::ObjectMeta& meta, const RoleHashOf& role_hash, PodJson& pod) {
  PodJson& metadata = ObjectAt(pod, "metadata");
  if (meta.annotations.count(api::kRoleHashAnnotation) == 0) {
    ObjectAt(metadata, "annotations")[api::kRoleHashAnnotation] = role_hash(pod["spec"]);
  }
  if (const std::string* label =
          api::FindValue(meta.annotations, api::kPodGroupPodIndexLabelAnnotation)) {
    const std::string* value = api::FindValue(meta.labels, *label);
    ObjectAt(metadata, "labels")[api::kPodGroupPodIndexLabel] = value == nullptr ? "" : *value;
  }
  PodJson& spec = ObjectAt(pod, "spec");
  AddGate(spec, api::kAdmissionGate);
  AddGate(spec, api::kTopologyGate);
}

Result<PodJson> MutatePod(const PodJson& object, const ReviewedKind::FactsOf& facts,
                          const RoleHashOf& role_hash, ReviewedPods which) {
  BERTH_TRY(api::ObjectMeta meta, api::Decode<api::ObjectMeta>(object));
  PodJson changed = object;
  if (const std::string parent = IsQueuedByParent(meta) ? "" : facts(meta).held_by;
      !parent.empty()) {
    ObjectAt(ObjectAt(changed, "metadata"), "annotations")[api::kPodSuspendingParentAnnotation] =
        parent;
  } else if (!IsQueuedByParent(meta)) {
    if (which == ReviewedPods::kOfParents) return changed;
    const api::StringMap before = meta.labels;
    ReviewedJob job{.meta = std::move(meta)};
    DefaultJob(facts(job.meta), job);
    if (!job.suspended) return changed;
    Take(before, job, changed);
    meta = std::move(job.meta);
  }
  Gate(meta, role_hash, changed);
  return changed;
}

// A pod counts as suspended when it is gated or has ended.
Result<ReviewedJob> ReadPod(const PodJson& object) {
  BERTH_TRY(api::Pod pod, api::Decode<api::Pod>(object));
  const auto& gates = pod.spec.scheduling_gates;
  ReviewedJob job;
  job.suspended = std::find(gates.begin(), gates.end(), api::kAdmissionGate) != gates.end() ||
                  api::HasEnded(pod);
  job.meta = std::move(pod.meta);
  job.pod_sets.push_back({.name = "main",
                          .count = std::numeric_limits<std::int32_t>::max(),
                          .annotations = Path("metadata.annotations"),
                          .topology_annotations = job.meta.annotations});
  return job;
}

void CheckManagedLabel(const api::ObjectMeta& pod, FieldErrors& errors) {
  const std::string* managed = api::FindValue(pod.labels, api::kManagedLabel);
  if (managed == nullptr || *managed == "true") return;
  errors.push_back(
      Forbidden(PodLabel(api::kManagedLabel), "managed label value can only be 'true'"));
}

void CheckGroup(const api::ObjectMeta& pod, FieldErrors& errors) {
  const GroupName group = GroupNameOf(pod);
  const std::string* total = api::FindValue(pod.annotations, api::kPodGroupTotalCountAnnotation);
  const std::string both = std::string("both the '") + api::kPodGroupTotalCountAnnotation +
                           "' annotation and the '" + api::kPodGroupNameLabel + "' " +
                           (group.by_annotation ? "annotation" : "label") + " should be set";
  if (group.name.empty()) {
    if (total != nullptr) errors.push_back(Required(PodLabel(api::kPodGroupNameLabel), both));
    return;
  }
  if (const std::string problem = DnsSubdomainProblem(group.name); !problem.empty()) {
    errors.push_back(Invalid(group.path(), Quoted(group.name), problem));
  }
  if (total == nullptr) {
    errors.push_back(Required(PodAnnotation(api::kPodGroupTotalCountAnnotation), both));
    return;
  }
  const std::optional<std::int64_t> count = ParseInt64(*total);
  if (!count || *count < 1 || *count > std::numeric_limits<std::int32_t>::max()) {
    errors.push_back(Invalid(PodAnnotation(api::kPodGroupTotalCountAnnotation), Quoted(*total),
                             std::string("incorrect annotation value '") +
                                 api::kPodGroupTotalCountAnnotation + "=" + *total +
                                 "': group total count should be greater than zero"));
  }
  for (const api::StringMap* map : {&pod.annotations, &pod.labels}) {
    const std::string* prebuilt = api::FindValue(*map, api::kPrebuiltWorkloadLabel);
    if (prebuilt == nullptr || *prebuilt == group.name) continue;
    errors.push_back(Invalid(map == &pod.labels ? PodLabel(api::kPrebuiltWorkloadLabel)
                                                : PodAnnotation(api::kPrebuiltWorkloadLabel),
                             Quoted(*prebuilt), "prebuilt workload and pod group should be equal"));
    return;
  }
}

void CheckChange(const api::ObjectMeta& pod, const api::ObjectMeta& old, FieldErrors& errors) {
  const GroupName group = GroupNameOf(pod);
  const GroupName before = GroupNameOf(old);
  if (!before.name.empty() && before.name != group.name) {
    errors.push_back(Invalid(before.path(), Quoted(group.name), kImmutable));
  }
  const auto unretriable = [](const api::ObjectMeta& meta) {
    const std::string* value = api::FindValue(meta.annotations, api::kRetriableInGroupAnnotation);
    return value != nullptr && *value == "false";
  };
  if (!group.name.empty() && unretriable(old) && !unretriable(pod)) {
    errors.push_back(Forbidden(PodAnnotation(api::kRetriableInGroupAnnotation),
                               "unretriable pod group can't be converted to retriable"));
  }
}

Result<FieldErrors> ValidatePod(const PodJson& object, const PodJson& old,
                                const ReviewedKind::FactsOf& facts, const ReviewedKind& kind) {
  BERTH_TRY(const ReviewedJob pod, ReadPod(object));
  FieldErrors own;
  CheckManagedLabel(pod.meta, own);
  CheckGroup(pod.meta, own);
  if (old.is_null()) return ValidateJob(pod, nullptr, kind, facts(pod.meta), own);
  BERTH_TRY(const ReviewedJob before, ReadPod(old));
  CheckChange(pod.meta, before.meta, own);
  return ValidateJob(pod, &before, kind, facts(pod.meta), own);
}

std::vector<std::string> WarnOfPod(const PodJson& object, const ReviewedKind::FactsOf& facts) {
  const Result<api::ObjectMeta> pod = api::Decode<api::ObjectMeta>(object);
  if (!pod || IsQueuedByParent(*pod)) return {};
  const std::string* managed = api::FindValue(pod->labels, api::kManagedLabel);
  if (managed == nullptr || *managed != "true" || !facts(*pod).ancestor_managed) return {};
  return {std::string("pod owner is managed by kueue, label '") + api::kManagedLabel +
          "=true' might lead to unexpected behaviour"};
}

}  // namespace

ReviewedKind PodKind(RoleHashOf role_hash, ReviewedPods which) {
  ReviewedKind kind;
  kind.name = "/v1, Kind=Pod";
  kind.framework = "pod";
  kind.path = "-v1-pod";
  kind.read = ReadPod;
  kind.mutate = [role_hash = std::move(role_hash), which](const PodJson& object,
                                                          const ReviewedKind::FactsOf& facts) {
    return MutatePod(object, facts, role_hash, which);
  };
  const ReviewedKind names = {.name = kind.name, .framework = kind.framework, .path = kind.path};
  kind.validate = [names](const PodJson& object, const PodJson& old,
                          const ReviewedKind::FactsOf& facts) {
    return ValidatePod(object, old, facts, names);
  };
  kind.warn = WarnOfPod;
  return kind;
}

}  // namespace berth::webhook

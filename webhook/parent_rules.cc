#include "webhook/parent_rules.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/labels.h"
#include "api/pod_groups.h"

namespace berth::webhook {
namespace {

using ParentJson = nlohmann::json;
using Keys = ParentMarks::Keys;

// Null where a field of the path is missing.
const ParentJson* FindAt(const ParentJson& object, const Keys& path, std::size_t depth) {
  const ParentJson* at = &object;
  for (std::size_t i = 0; i < depth; ++i) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(path[i]);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

ParentJson& MapIn(ParentJson& parent, const std::string& key) {
  ParentJson& child = parent[key];
  if (!child.is_object()) child = ParentJson::object();
  return child;
}

// The framework whose annotation the object's pods carry; empty: none.
std::string ParentOfPods(const ParentJson& object, const ParentMarks& marks) {
  for (const Keys& path : marks.metadata) {
    const ParentJson* metadata = FindAt(object, path, path.size());
    if (metadata == nullptr || !metadata->is_object()) continue;
    const auto annotations = metadata->find("annotations");
    if (annotations == metadata->end() || !annotations->is_object()) continue;
    const auto found = annotations->find(api::kPodSuspendingParentAnnotation);
    if (found != annotations->end() && found->is_string()) return found->get<std::string>();
  }
  return "";
}

bool IsOfAnother(const ParentJson& object, const std::string& framework, const ParentMarks& marks) {
  const std::string parent = ParentOfPods(object, marks);
  return !parent.empty() && parent != framework;
}

void Mark(const ReviewedJob& job, const std::string& framework, const ParentMarks& marks,
          const Keys& path, ParentJson& object) {
  const ParentJson* holder = FindAt(object, path, path.size() - 1);
  if (holder == nullptr || !holder->is_object()) return;
  ParentJson* metadata = &object;
  for (const std::string& key : path) metadata = &MapIn(*metadata, key);
  ParentJson& annotations = MapIn(*metadata, "annotations");
  annotations[api::kPodSuspendingParentAnnotation] = framework;
  if (marks.serving) annotations[api::kPodGroupServingAnnotation] = "true";
  if (marks.managed) MapIn(*metadata, "labels")[api::kManagedLabel] = "true";
  if (!marks.labels) return;
  for (const char* key : {api::kQueueLabel, api::kPriorityClassLabel}) {
    const std::string* value = api::FindValue(job.meta.labels, key);
    if (value != nullptr && !value->empty()) MapIn(*metadata, "labels")[key] = *value;
  }
}

// An object with ready pods gets no default queue or priority class: it could not have them removed
// or added by its user either.
Result<ParentJson> MutateParent(const ParentJson& object, const ReviewedKind::FactsOf& facts_of,
                                const ReviewedKind& kind, const ParentMarks& marks) {
  BERTH_TRY(const ReviewedJob given, kind.read(object));
  ParentJson changed = object;
  if (IsOfAnother(object, kind.framework, marks)) return changed;
  const api::StringMap before = given.meta.labels;
  ReviewedJob job{.meta = given.meta};
  JobFacts facts = facts_of(job.meta);
  facts.default_local_queue = facts.default_local_queue && given.suspended;
  facts.default_priority_class = facts.default_priority_class && given.suspended;
  DefaultJob(facts, job);
  if (!job.suspended) return changed;
  for (const auto& [key, value] : job.meta.labels) {
    if (before.count(key) == 0) MapIn(MapIn(changed, "metadata"), "labels")[key] = value;
  }
  for (const Keys& path : marks.metadata) Mark(job, kind.framework, marks, path, changed);
  if (marks.more) marks.more(changed);
  return changed;
}

Result<FieldErrors> ValidateParent(const ParentJson& object, const ParentJson& old,
                                   const ReviewedKind::FactsOf& facts_of, const ReviewedKind& kind,
                                   const ParentMarks& marks) {
  if (IsOfAnother(object, kind.framework, marks)) return FieldErrors{};
  BERTH_TRY(const ReviewedJob job, kind.read(object));
  const JobFacts facts = facts_of(job.meta);
  if (old.is_null()) {
    return ValidateJob(job, nullptr, kind, facts,
                       marks.own ? marks.own(object, old, job, facts) : FieldErrors{});
  }
  BERTH_TRY(const ReviewedJob before, kind.read(old));
  if (!IsQueuedJob(job.meta, facts) && !IsManagedJob(before.meta)) return FieldErrors{};
  FieldErrors own;
  // A queue is never taken away: the pods that wait for it would wait for ever.
  const bool queued = before.meta.labels.count(api::kQueueLabel) != 0;
  if (job.suspended && queued && job.meta.labels.count(api::kQueueLabel) == 0) {
    own.push_back(Invalid(Path("metadata.labels").Key(api::kQueueLabel), Quoted(""), kImmutable));
  }
  if (marks.own) {
    const FieldErrors more = marks.own(object, old, job, facts);
    own.insert(own.end(), more.begin(), more.end());
  }
  return ValidateJob(job, &before, kind, facts, own);
}

}  // namespace

ReviewedKind ParentKind(ReviewedKind kind, ParentMarks marks) {
  ReviewedKind reviewed = kind;
  reviewed.mutate = [kind, marks](const ParentJson& object, const ReviewedKind::FactsOf& facts) {
    return MutateParent(object, facts, kind, marks);
  };
  reviewed.validate = [kind = std::move(kind), marks = std::move(marks)](
                          const ParentJson& object, const ParentJson& old,
                          const ReviewedKind::FactsOf& facts) {
    return ValidateParent(object, old, facts, kind, marks);
  };
  return reviewed;
}

}  // namespace berth::webhook

// The rules of StatefulSets and LeaderWorkerSets alone.
#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "api/labels.h"
#include "webhook/parent_rules.h"

namespace berth::webhook {
namespace {

using Tree = nlohmann::json;

constexpr std::int64_t kMostGroups = 1'000'000;

const Tree& At(const Tree& object, const char* key) {
  static const Tree kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

const Tree& Deep(const Tree& object, std::initializer_list<const char*> keys) {
  const Tree* at = &object;
  for (const char* key : keys) at = &At(*at, key);
  return *at;
}

std::int64_t NumberOr(const Tree& value, std::int64_t fallback) {
  return value.is_number_integer() ? value.get<std::int64_t>() : fallback;
}

void CheckSame(const Tree& now, const Tree& old, const Path& path, FieldErrors& errors) {
  if (now == old) return;
  errors.push_back(Invalid(
      path, now.is_string() ? Quoted(now.get<std::string>()) : api::FormatJson(now), kImmutable));
}

void CheckContainers(const Tree& now, const Tree& old, const Path& path, FieldErrors& errors) {
  const std::size_t count = now.is_array() ? now.size() : 0;
  if (count != (old.is_array() ? old.size() : 0)) {
    errors.push_back(Invalid(path, api::FormatJson(now), kImmutable));
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Path at = path.Index(i);
    CheckSame(At(now[i], "ports"), At(old[i], "ports"), at.Child("ports"), errors);
    CheckSame(Deep(now[i], {"resources", "requests"}), Deep(old[i], {"resources", "requests"}),
              at.Child("resources").Child("requests"), errors);
  }
}

// The shape of a pod spec: the fields of its role hash (integrations/pods/role_hash.h). Images,
// environment and the like may change.
void CheckShape(const Tree& now, const Tree& old, const Path& path, FieldErrors& errors) {
  constexpr std::array kFields{
      "affinity",       "nodeSelector",     "overhead",    "priority",
      "resourceClaims", "runtimeClassName", "tolerations", "topologySpreadConstraints"};
  for (const char* field : {"containers", "initContainers"}) {
    CheckContainers(At(now, field), At(old, field), path.Child(field), errors);
  }
  for (const char* field : kFields) {
    CheckSame(At(now, field), At(old, field), path.Child(field), errors);
  }
  CheckSame(Deep(now, {"resources", "requests"}), Deep(old, {"resources", "requests"}),
            path.Child("resources").Child("requests"), errors);
}

FieldErrors CheckStatefulSet(const Tree& object, const Tree& old, const ReviewedJob& job,
                             const JobFacts& facts) {
  FieldErrors errors;
  const bool managed = IsManagedJob(job.meta) || facts.manage_without_queue_name;
  if (old.is_null() || !managed) return errors;
  CheckShape(Deep(object, {"spec", "template", "spec"}), Deep(old, {"spec", "template", "spec"}),
             Path("spec.template.spec"), errors);
  const Path replicas("spec.replicas");
  const std::int64_t now = NumberOr(Deep(object, {"spec", "replicas"}), 1);
  const std::int64_t before = NumberOr(Deep(old, {"spec", "replicas"}), 1);
  if (now == before || now == 0) return errors;
  if (before != 0) {
    errors.push_back(Invalid(replicas, std::to_string(now), kImmutable));
  } else if (NumberOr(Deep(old, {"status", "replicas"}), 0) > 0) {
    errors.push_back(Forbidden(replicas, "scaling down is still in progress"));
  } else if (facts.parent_holds_workload) {
    errors.push_back(
        Forbidden(replicas, "workload from previous scale-down is still being deleted"));
  }
  return errors;
}

FieldErrors CheckLeaderWorkerSet(const Tree& object, const Tree& old, const ReviewedJob& job,
                                 const JobFacts& facts) {
  FieldErrors errors;
  const std::int64_t replicas = NumberOr(Deep(object, {"spec", "replicas"}), 1);
  if (replicas < 0) {
    errors.push_back(Invalid(Path("spec.replicas"), std::to_string(replicas), kNegative));
  } else if (replicas > kMostGroups) {
    errors.push_back(Invalid(Path("spec.replicas"), std::to_string(replicas),
                             "must be less than or equal to " + std::to_string(kMostGroups)));
  }
  const bool managed = IsManagedJob(job.meta) || facts.manage_without_queue_name;
  if (old.is_null() || !managed) return errors;
  const Path path("spec.leaderWorkerTemplate");
  const Tree& now = Deep(object, {"spec", "leaderWorkerTemplate"});
  const Tree& before = Deep(old, {"spec", "leaderWorkerTemplate"});
  const std::int64_t size = NumberOr(At(now, "size"), 1);
  if (size != NumberOr(At(before, "size"), 1)) {
    errors.push_back(Invalid(path.Child("size"), std::to_string(size), kImmutable));
  }
  const Tree& leader = At(now, "leaderTemplate");
  const Path leader_path = path.Child("leaderTemplate");
  if (leader.is_null() != At(before, "leaderTemplate").is_null()) {
    errors.push_back(Invalid(leader_path, api::FormatJson(leader), kImmutable));
  } else {
    CheckShape(At(leader, "spec"), Deep(before, {"leaderTemplate", "spec"}),
               leader_path.Child("spec"), errors);
  }
  CheckShape(Deep(now, {"workerTemplate", "spec"}), Deep(before, {"workerTemplate", "spec"}),
             path.Child("workerTemplate").Child("spec"), errors);
  return errors;
}

// The leader takes the first place of its domain: the workers are numbered behind it.
void OffsetWorkers(Tree& object) {
  const Tree& parts = Deep(object, {"spec", "leaderWorkerTemplate"});
  // The review comes before the API server compares the object with its schema.
  if (At(parts, "leaderTemplate").is_null() || !At(parts, "workerTemplate").is_object()) return;
  for (const char* part : {"leaderTemplate", "workerTemplate"}) {
    const Tree& annotations = Deep(parts, {part, "metadata", "annotations"});
    if (annotations.is_object() && annotations.contains(api::kPodSetGroupNameAnnotation)) return;
  }
  Tree& worker = object["spec"]["leaderWorkerTemplate"]["workerTemplate"];
  worker["metadata"]["annotations"][api::kPodIndexOffsetAnnotation] = "1";
}

}  // namespace

void AddServingRules(const std::string& framework, ParentMarks& marks) {
  if (framework == "statefulset") marks.own = CheckStatefulSet;
  if (framework == "leaderworkerset.x-k8s.io/leaderworkerset") {
    marks.own = CheckLeaderWorkerSet;
    marks.more = OffsetWorkers;
  }
}

}  // namespace berth::webhook

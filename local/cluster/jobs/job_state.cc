#include "local/cluster/jobs/job_state.h"

#include <algorithm>

#include "base/strings.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

constexpr std::int64_t kMostIndexes = 100'000;  // the API's limit for indexed Jobs

WallTime FinishedAt(const Json& pod) {
  std::optional<WallTime> last;
  for (const Json& container : ArrayAt(pod, {"status", "containerStatuses"})) {
    const auto finished = TimeAt(container, {"state", "terminated", "finishedAt"});
    if (finished && (!last || *last < *finished)) last = finished;
  }
  if (last) return *last;
  if (const Json* ready = FindCondition(pod, "Ready"); ready != nullptr) {
    if (const auto changed = TimeAt(*ready, {"lastTransitionTime"})) return *changed;
  }
  if (const auto deleted = TimeAt(pod, {"metadata", "deletionTimestamp"})) return *deleted;
  return TimeAt(pod, {"metadata", "creationTimestamp"}).value_or(WallTime());
}

std::int64_t Restarts(const Json& pod) {
  std::int64_t restarts = 0;
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const Json& container : ArrayAt(pod, {"status", list})) {
      restarts += IntAt(container, {"restartCount"});
    }
  }
  return restarts;
}

}  // namespace

IndexSet ParseIndexes(std::string_view text) {
  IndexSet indexes;
  if (text.empty()) return indexes;
  for (const std::string_view part : Split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = ParseInt64(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ParseInt64(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *first > *last || *last > kMostIndexes) continue;
    for (std::int64_t index = *first; index <= *last; ++index) indexes.insert(index);
  }
  return indexes;
}

std::string FormatIndexes(const IndexSet& indexes) {
  std::string text;
  for (auto at = indexes.begin(); at != indexes.end();) {
    const std::int64_t first = *at;
    std::int64_t last = first;
    for (++at; at != indexes.end() && *at == last + 1; ++at) last = *at;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last > first) text += (last == first + 1 ? "," : "-") + std::to_string(last);
  }
  return text;
}

PodView ViewPod(Object pod) {
  PodView view;
  const Json& json = *pod;
  view.name = NameOf(json);
  view.uid = UidOf(json);
  view.phase = StringAt(json, {"status", "phase"});
  view.is_deleting = IsDeleting(json);
  view.is_tracked = HasFinalizer(json, kJobTrackingFinalizer);
  view.is_ready = ConditionIs(json, "Ready", "True");
  view.is_scheduled = !StringAt(json, {"spec", "nodeName"}).empty();
  view.is_disrupted = ConditionIs(json, "DisruptionTarget", "True");
  view.index = ParseInt64(AnnotationOf(json, kCompletionIndexKey));
  view.index_failures = ParseInt64(AnnotationOf(json, kIndexFailureCountKey)).value_or(0);
  view.restarts = Restarts(json);
  view.created_at = TimeAt(json, {"metadata", "creationTimestamp"}).value_or(WallTime());
  view.finished_at = FinishedAt(json);
  view.object = std::move(pod);
  return view;
}

JobSpec ReadJobSpec(const Json& job) {
  JobSpec spec;
  spec.parallelism = IntAt(job, {"spec", "parallelism"}, 1);
  spec.completions = OptionalIntAt(job, {"spec", "completions"});
  spec.backoff_limit_per_index = OptionalIntAt(job, {"spec", "backoffLimitPerIndex"});
  spec.backoff_limit =
      IntAt(job, {"spec", "backoffLimit"}, spec.backoff_limit_per_index ? INT32_MAX : 6);
  spec.max_failed_indexes = OptionalIntAt(job, {"spec", "maxFailedIndexes"});
  spec.active_deadline_seconds = OptionalIntAt(job, {"spec", "activeDeadlineSeconds"});
  spec.ttl_seconds_after_finished = OptionalIntAt(job, {"spec", "ttlSecondsAfterFinished"});
  spec.is_indexed = StringAt(job, {"spec", "completionMode"}) == "Indexed";
  spec.is_suspended = BoolAt(job, {"spec", "suspend"});
  spec.replaces_only_failed = StringAt(job, {"spec", "podReplacementPolicy"}) == "Failed" ||
                              Find(job, {"spec", "podFailurePolicy"}) != nullptr;
  spec.restarts_in_place =
      StringAt(job, {"spec", "template", "spec", "restartPolicy"}) == "OnFailure";
  return spec;
}

bool IsJobFinished(const Json& job) {
  return ConditionIs(job, "Complete", "True") || ConditionIs(job, "Failed", "True");
}

}  // namespace berth::local::cluster

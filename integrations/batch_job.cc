#include "integrations/batch_job.h"

#include <algorithm>
#include <string>
#include <utility>

#include "api/labels.h"
#include "api/multikueue.h"
#include "base/strings.h"
#include "integrations/template_topology.h"

namespace berth::integrations {
namespace {

// Labels that the Job controller adds to the template: they identify one Job and are not part of
// the pods' shape.
constexpr const char* kJobOwnLabels[] = {api::kLegacyControllerUidLabel, api::kLegacyJobNameLabel,
                                         api::kJobControllerUidLabel, api::kJobNameLabel};

std::int32_t ParallelismOf(const api::Job& job) { return job.parallelism.value_or(1); }

bool HasAnnotation(const api::Job& job, const char* key, std::string_view value) {
  const std::string* found = api::FindValue(job.meta.annotations, key);
  return found != nullptr && *found == value;
}

std::optional<std::int32_t> MinParallelism(const api::Job& job) {
  const std::string* text = api::FindValue(job.meta.annotations, api::kMinParallelismAnnotation);
  if (text == nullptr) return std::nullopt;
  const std::optional<std::int64_t> value = ParseInt64(*text);
  if (!value || *value < 1 || *value > INT32_MAX) return std::nullopt;
  return static_cast<std::int32_t>(*value);
}

using Interval = std::pair<std::int64_t, std::int64_t>;  // first, last

// "0,2-4" as intervals below `limit`; skips invalid parts.
void AddIntervals(std::string_view text, std::int64_t limit, std::vector<Interval>& out) {
  for (const std::string_view part : Split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = ParseInt64(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ParseInt64(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *first > *last || *first >= limit) continue;
    out.emplace_back(*first, std::min(*last, limit - 1));
  }
}

// The number of completions that have succeeded or failed.
std::int64_t TerminalCount(const api::Job& job, std::int64_t completions) {
  if (job.completion_mode != "Indexed") return job.succeeded;
  std::vector<Interval> over;
  AddIntervals(job.completed_indexes, completions, over);
  AddIntervals(job.failed_indexes, completions, over);
  std::sort(over.begin(), over.end());
  std::int64_t count = 0;
  std::int64_t next = 0;  // the first uncounted index
  for (const auto& [first, last] : over) {
    if (last < next) continue;
    count += last - std::max(first, next) + 1;
    next = last + 1;
  }
  return count;
}

// The number of pods that need no successor. If the Job has backoffLimitPerIndex, an index that has
// failed is over like one that has succeeded: a Job that goes on without the index has all its
// pods.
std::int64_t DoneCount(const api::Job& job) {
  const std::int64_t completions = job.completions.value_or(ParallelismOf(job));
  const std::int64_t counted =
      std::max<std::int64_t>(job.succeeded, TerminalCount(job, completions));
  return counted + job.uncounted_succeeded + job.uncounted_failed;
}

std::vector<api::ReclaimablePod> ReclaimablePods(const api::Job& job) {
  const std::int64_t parallelism = ParallelismOf(job);
  if (parallelism <= 1) return {};
  const std::int64_t completions = job.completions.value_or(ParallelismOf(job));
  const std::int64_t terminal = TerminalCount(job, completions);
  const std::int64_t remaining = std::max<std::int64_t>(completions - terminal, 0);
  const std::int64_t counted = PodsCount(job);  // Kueue: parallelism, which may be more
  if (terminal == 0 || remaining >= counted) return {};
  return {{"main", static_cast<std::int32_t>(counted - remaining)}};
}

// The end of the time for terminating pods. A pod on a dead machine must not hold quota for ever;
// until the Job controller has written the start of the deletion, there is no limit.
std::optional<WallTime> EndingUntil(const api::Job& job) {
  constexpr Duration kSlack = std::chrono::minutes(1);
  constexpr std::int64_t kLongestGrace = 7 * 24 * 3600;
  if (job.terminating == 0) return std::nullopt;
  std::optional<WallTime> since;
  for (const char* type : {"Suspended", "FailureTarget", "SuccessCriteriaMet"}) {
    const api::Condition* told = api::FindCondition(job.conditions, type);
    if (told == nullptr || told->status != api::ConditionStatus::kTrue) continue;
    since = std::max(since.value_or(told->last_transition_time), told->last_transition_time);
  }
  if (!since) return WallTime::max();
  return *since + kSlack +
         std::chrono::seconds(std::clamp<std::int64_t>(job.grace_seconds, 0, kLongestGrace));
}

std::optional<JobOutcome> OutcomeOf(const api::Job& job) {
  for (const api::Condition& condition : job.conditions) {
    if (condition.status != api::ConditionStatus::kTrue) continue;
    if (condition.type == "Complete") return JobOutcome{true, condition.message};
    if (condition.type == "Failed") return JobOutcome{false, condition.message};
  }
  return std::nullopt;
}

}  // namespace

std::int32_t PodsCount(const api::Job& job) {
  return std::min(ParallelismOf(job), job.completions.value_or(INT32_MAX));
}

JobView ViewOf(const api::Job& job) {
  JobView view;
  view.kind = &kBatchJob;
  view.meta = job.meta;
  const bool marked = HasAnnotation(job, api::kStoppingAnnotation, "true");
  view.suspended = job.suspend && !marked;
  view.stopping = job.suspend && marked;
  view.is_delegated = job.managed_by == api::kMultiKueueController;
  view.skipped = view.is_delegated;
  view.active = job.active != 0;
  view.ending_until = EndingUntil(job);
  view.pods_ready = DoneCount(job) + job.ready >= PodsCount(job);
  view.finished = OutcomeOf(job);
  view.elastic = HasAnnotation(job, api::kElasticJobAnnotation, "true");
  if (view.elastic) view.slice_variant = std::to_string(job.meta.generation);
  view.reclaimable_pods = ReclaimablePods(job);

  api::JobPodSet pods;
  pods.Take(job.pod_template);
  // Kueue keeps the job's name: a recreated Job has the same name.
  for (const char* label : kJobOwnLabels) {
    if (label != std::string_view(api::kJobNameLabel)) pods.pod_template.labels.erase(label);
  }
  pods.count = PodsCount(job);
  pods.min_count = MinParallelism(job);
  pods.topology_request = TopologyRequestOf(job.pod_template.annotations);
  // The index alone makes a request, as in Kueue.
  if (!pods.topology_request) pods.topology_request.emplace();
  pods.topology_request->pod_index_label = api::kCompletionIndexLabel;
  view.pod_sets.push_back(std::move(pods));
  return view;
}

BatchJobWrite StartWrite(const api::Job& job, const PodSetChange& change) {
  BatchJobWrite write;
  write.suspend = false;
  write.pod_template = change;
  // The Workload lacks the labels of the Job controller, which must survive.
  for (const char* label : kJobOwnLabels) {
    if (const std::string* value = api::FindValue(job.pod_template.labels, label)) {
      write.pod_template->labels[label] = *value;
    }
  }
  if (change.count_is_partial && change.count != ParallelismOf(job)) {
    write.parallelism = change.count;
    if (HasAnnotation(job, api::kCompletionsEqualParallelismAnnotation, "true")) {
      write.completions = change.count;
    }
  }
  return write;
}

std::vector<BatchJobWrite> StopWrites(const api::Job& job,
                                      const std::optional<PodSetChange>& original) {
  const bool stopping = HasAnnotation(job, api::kStoppingAnnotation, "true");
  std::vector<BatchJobWrite> writes;
  if (job.suspend && !stopping && !original) return writes;
  if (!job.suspend) {
    writes.push_back({.suspend = true, .stopping = BatchJobWrite::Stopping::kSet});
  }
  if (job.start_time) writes.push_back({.clear_start_time = true});
  if (job.active != 0) return writes;  // the template is immutable while pods exist
  BatchJobWrite restore;
  if (original) {
    restore = StartWrite(job, *original);
    restore.suspend.reset();
  }
  restore.stopping = BatchJobWrite::Stopping::kRemove;
  writes.push_back(std::move(restore));
  return writes;
}

}  // namespace berth::integrations

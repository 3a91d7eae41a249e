// local/cluster/jobs/job_state.h — one Job and its pods, as input of the Job controller's plan.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/api.h"

namespace berth::local::cluster {

inline constexpr std::string_view kJobTrackingFinalizer = "batch.kubernetes.io/job-tracking";
inline constexpr std::string_view kCompletionIndexKey = "batch.kubernetes.io/job-completion-index";
inline constexpr std::string_view kIndexFailureCountKey =
    "batch.kubernetes.io/job-index-failure-count";

using IndexSet = std::set<std::int64_t>;
IndexSet ParseIndexes(std::string_view text);  // "0,2-4"; skips invalid parts
std::string FormatIndexes(const IndexSet& indexes);

struct PodView {
  Object object;
  std::string name;
  std::string uid;
  std::string phase;
  bool is_deleting = false;
  bool is_tracked = false;  // has the tracking finalizer: not finally counted
  bool is_ready = false;
  bool is_scheduled = false;
  bool is_disrupted = false;  // has the condition DisruptionTarget
  std::optional<std::int64_t> index;
  std::int64_t index_failures = 0;  // earlier failures of its index
  std::int64_t restarts = 0;
  WallTime created_at;
  WallTime finished_at;  // set for terminal and terminating pods

  bool succeeded() const { return phase == "Succeeded"; }
  bool is_terminal() const { return phase == "Succeeded" || phase == "Failed"; }
  bool is_active() const { return !is_terminal() && !is_deleting; }
  bool is_terminating() const { return !is_terminal() && is_deleting; }
  // The pod is being deleted and has no tracking finalizer: because of a suspension or a smaller
  // parallelism, or after it was counted. The pod's end says nothing about the Job.
  bool is_discarded() const { return is_deleting && !is_tracked; }
};
PodView ViewPod(Object pod);

struct JobView {
  Object job;
  std::vector<PodView> pods;  // all pods of the Job, by name
  // Set after a failed pod creation: the earliest next one.
  std::optional<WallTime> create_not_before;
};

// Fields of a Job's spec, with the API's defaults.
struct JobSpec {
  std::int64_t parallelism = 1;
  std::optional<std::int64_t> completions;
  std::int64_t backoff_limit = 6;
  std::optional<std::int64_t> backoff_limit_per_index;
  std::optional<std::int64_t> max_failed_indexes;
  std::optional<std::int64_t> active_deadline_seconds;
  std::optional<std::int64_t> ttl_seconds_after_finished;
  bool is_indexed = false;
  bool is_suspended = false;
  bool replaces_only_failed = false;  // podReplacementPolicy Failed
  bool restarts_in_place = false;     // restartPolicy OnFailure
};
JobSpec ReadJobSpec(const Json& job);

bool IsJobFinished(const Json& job);

}  // namespace berth::local::cluster

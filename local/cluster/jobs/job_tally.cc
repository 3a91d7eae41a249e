#include "local/cluster/jobs/job_tally.h"

#include <algorithm>

#include "local/cluster/jobs/job_policy.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

constexpr std::size_t kMostUncounted = 500;
constexpr Duration kFirstBackoff = std::chrono::seconds(10);
constexpr Duration kLongestBackoff = std::chrono::minutes(10);

std::set<std::string> UidsAt(const Json& status, const char* list) {
  std::set<std::string> uids;
  for (const Json& uid : ArrayAt(status, {"uncountedTerminatedPods", list})) {
    uids.insert(StringAt(uid, {}));
  }
  return uids;
}

// A deleted pod counts as failed even if it never reaches that phase, unless podReplacementPolicy
// is Failed.
bool IsFailed(const PodView& pod, const JobSpec& spec) {
  if (pod.phase == "Failed") return true;
  return !spec.replaces_only_failed && pod.is_deleting && !pod.succeeded();
}

bool IsIndexValid(const PodView& pod, const JobSpec& spec) {
  return pod.index && *pod.index >= 0 && *pod.index < spec.completions.value_or(0);
}

void CountFailure(const JobView& view, const JobSpec& spec, const PodView& pod, bool is_new,
                  JobTally& tally) {
  const FailureVerdict verdict = JudgeFailure(*view.job, *pod.object);
  if (verdict.action == FailureAction::kIgnore) return;
  if (verdict.action == FailureAction::kFailJob && !tally.failing_pod) {
    tally.failing_pod = verdict.message;
  }
  if (is_new) ++tally.failed;
  if (!spec.is_indexed || !IsIndexValid(pod, spec)) return;
  std::int64_t& failures = tally.failures_by_index[*pod.index];
  failures = std::max(failures, pod.index_failures + 1);
  if (!spec.backoff_limit_per_index || !pod.is_tracked) return;
  if (failures > *spec.backoff_limit_per_index || verdict.action == FailureAction::kFailIndex) {
    tally.failed_indexes.insert(*pod.index);
  }
}

struct Uncounted {
  std::set<std::string> succeeded;
  std::set<std::string> failed;
  std::size_t size() const { return succeeded.size() + failed.size(); }
};

// The second phase: counts pods that have lost their finalizer.
void SettleUncounted(const JobView& view, Uncounted& uncounted, Json& status) {
  std::set<std::string> tracked;
  for (const PodView& pod : view.pods) {
    if (pod.is_tracked) tracked.insert(pod.uid);
  }
  const auto settle = [&](std::set<std::string>& uids, const char* counter) {
    const std::size_t before = uids.size();
    std::erase_if(uids, [&](const std::string& uid) { return tracked.count(uid) == 0; });
    const auto settled = static_cast<std::int64_t>(before - uids.size());
    if (settled > 0) status[counter] = IntAt(status, {counter}) + settled;
  };
  settle(uncounted.succeeded, "succeeded");
  settle(uncounted.failed, "failed");
}

// The first phase for one tracked pod; returns whether its finalizer may be removed.
bool Enter(const JobView& view, const JobSpec& spec, const PodView& pod, Ending ending,
           Uncounted& uncounted, IndexSet& completed) {
  if (pod.succeeded()) {
    if (!spec.is_indexed) {
      if (uncounted.failed.count(pod.uid) == 0) uncounted.succeeded.insert(pod.uid);
    } else if (IsIndexValid(pod, spec)) {
      completed.insert(*pod.index);
    }
    return true;
  }
  if (IsFailed(pod, spec) || ending == Ending::kFailed) {
    const bool ignored = pod.phase == "Failed" &&
                         JudgeFailure(*view.job, *pod.object).action == FailureAction::kIgnore;
    const bool counts = !spec.is_indexed || IsIndexValid(pod, spec);
    if (counts && !ignored) uncounted.failed.insert(pod.uid);
    return true;
  }
  return ending != Ending::kNo;
}

}  // namespace

JobTally CountPods(const JobView& view, const JobSpec& spec) {
  const Json& status = view.job->value("status", Json::object());
  JobTally tally;
  tally.succeeded = IntAt(status, {"succeeded"});
  tally.failed = IntAt(status, {"failed"});
  tally.succeeded_indexes = ParseIndexes(StringAt(status, {"completedIndexes"}));
  tally.failed_indexes = ParseIndexes(StringAt(status, {"failedIndexes"}));
  const std::set<std::string> known_failed = UidsAt(status, "failed");
  tally.succeeded += static_cast<std::int64_t>(UidsAt(status, "succeeded").size());
  tally.failed += static_cast<std::int64_t>(known_failed.size());
  const std::set<std::string> known_succeeded = UidsAt(status, "succeeded");
  for (const PodView& pod : view.pods) {
    if (pod.is_active()) ++tally.active;
    if (pod.is_active() && pod.is_ready) ++tally.ready;
    if (pod.is_terminating()) ++tally.terminating;
    if (pod.succeeded()) {
      if (!pod.is_tracked) continue;  // the status has the indexes of counted pods
      if (spec.is_indexed && IsIndexValid(pod, spec)) tally.succeeded_indexes.insert(*pod.index);
      if (known_succeeded.count(pod.uid) == 0) ++tally.succeeded;
    } else if (IsFailed(pod, spec) && !pod.is_discarded()) {
      const bool is_new = pod.is_tracked && known_failed.count(pod.uid) == 0;
      CountFailure(view, spec, pod, is_new, tally);
    }
  }
  if (spec.is_indexed) {
    const std::int64_t completions = spec.completions.value_or(0);
    std::erase_if(tally.succeeded_indexes, [&](std::int64_t i) { return i >= completions; });
    tally.succeeded = static_cast<std::int64_t>(tally.succeeded_indexes.size());
  }
  return tally;
}

std::vector<std::size_t> AdvanceCounting(const JobView& view, const JobSpec& spec,
                                         const JobTally& tally, Ending ending, Json& status) {
  Uncounted uncounted{UidsAt(status, "succeeded"), UidsAt(status, "failed")};
  IndexSet completed = ParseIndexes(StringAt(status, {"completedIndexes"}));
  SettleUncounted(view, uncounted, status);
  std::vector<std::size_t> release;
  for (std::size_t at = 0; at < view.pods.size() && uncounted.size() < kMostUncounted; ++at) {
    if (!view.pods[at].is_tracked) continue;
    if (Enter(view, spec, view.pods[at], ending, uncounted, completed)) release.push_back(at);
  }
  Json uids = Json::object();
  if (!uncounted.succeeded.empty()) uids["succeeded"] = uncounted.succeeded;
  if (!uncounted.failed.empty()) uids["failed"] = uncounted.failed;
  status["uncountedTerminatedPods"] = std::move(uids);
  if (spec.is_indexed) {
    std::erase_if(completed, [&](std::int64_t i) { return i >= spec.completions.value_or(0); });
    if (completed.empty()) {
      status.erase("completedIndexes");
      status.erase("succeeded");
    } else {
      status["completedIndexes"] = FormatIndexes(completed);
      status["succeeded"] = completed.size();
    }
    if (spec.backoff_limit_per_index) status["failedIndexes"] = FormatIndexes(tally.failed_indexes);
  }
  return release;
}

bool IsCountingDone(const JobView& view, const Json& status) {
  const Json* uncounted = Find(status, {"uncountedTerminatedPods"});
  if (uncounted != nullptr && !uncounted->empty()) return false;
  return std::none_of(view.pods.begin(), view.pods.end(),
                      [](const PodView& pod) { return pod.is_tracked; });
}

std::optional<WallTime> BackoffUntil(const JobView& view, std::optional<std::int64_t> index) {
  std::optional<WallTime> last_success;
  for (const PodView& pod : view.pods) {
    if (!pod.succeeded() || pod.is_discarded() || (index && pod.index != index)) continue;
    if (!last_success || *last_success < pod.finished_at) last_success = pod.finished_at;
  }
  int failures = 0;
  std::optional<WallTime> last_failure;
  for (const PodView& pod : view.pods) {
    if (pod.phase != "Failed" || (index && pod.index != index)) continue;
    if (pod.is_disrupted || pod.is_discarded()) continue;  // such pods are replaced at once
    if (last_success && pod.finished_at <= *last_success) continue;
    ++failures;
    if (!last_failure || *last_failure < pod.finished_at) last_failure = pod.finished_at;
  }
  if (!last_failure) return std::nullopt;
  const int doublings = std::min(failures - 1, 6);
  return *last_failure + std::min(kFirstBackoff * (1 << doublings), kLongestBackoff);
}

}  // namespace berth::local::cluster

#include "local/cluster/jobs/job_plan.h"

#include <algorithm>

#include "base/rfc3339.h"
#include "base/seconds.h"
#include "local/cluster/jobs/job_pods.h"
#include "local/cluster/jobs/job_policy.h"
#include "local/cluster/jobs/job_tally.h"
#include "local/cluster/objects/cluster_limits.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

// The decided end: an interim condition first, the terminal one once all pods are counted.
struct Verdict {
  bool succeeded = false;
  std::string reason;
  std::string message;
};

class JobPlanner {
 public:
  JobPlanner(const JobView& view, WallTime now)
      : view_(view),
        job_(*view.job),
        now_(now),
        spec_(ReadJobSpec(job_)),
        tally_(CountPods(view, spec_)),
        status_(job_.value("status", Json::object())) {}

  JobPlan Run() {
    if (IsJobFinished(job_)) return AfterTheEnd();
    if (!spec_.is_suspended && !status_.contains("startTime")) SetStartTime();
    std::optional<Verdict> verdict = IsDeleting(job_) ? std::nullopt : Judge();
    if (verdict) {
      for (std::size_t at = 0; at < view_.pods.size(); ++at) {
        if (view_.pods[at].is_active()) plan_.remove.push_back(at);
      }
      tally_.terminating += tally_.active;
      tally_.active = 0;
      tally_.ready = 0;
    } else if (!IsDeleting(job_)) {
      ManagePods();
      if (IsComplete()) verdict = Verdict{true, "CompletionsReached", kCompletionsReached};
      if (!verdict) FollowSuspension();
    }
    Ending ending = IsDeleting(job_) ? Ending::kDeleted : Ending::kNo;
    if (verdict) ending = verdict->succeeded ? Ending::kSucceeded : Ending::kFailed;
    plan_.release = AdvanceCounting(view_, spec_, tally_, ending, status_);
    WriteCounts();
    if (verdict) Conclude(*verdict);
    if (status_ != job_.value("status", Json::object())) plan_.status = std::move(status_);
    return std::move(plan_);
  }

 private:
  static constexpr char kCompletionsReached[] = "Reached expected number of succeeded pods";

  // Handles the time to live, and finalizers left by a crash.
  JobPlan AfterTheEnd() {
    for (std::size_t at = 0; at < view_.pods.size(); ++at) {
      if (view_.pods[at].is_tracked) plan_.release.push_back(at);
    }
    if (!spec_.ttl_seconds_after_finished || IsDeleting(job_)) return std::move(plan_);
    const Json* end = FindCondition(job_, "Complete");
    if (end == nullptr) end = FindCondition(job_, "Failed");
    const WallTime finished = TimeAt(*end, {"lastTransitionTime"}).value_or(now_);
    const WallTime expires = finished + BoundedSeconds(*spec_.ttl_seconds_after_finished);
    if (expires <= now_) {
      plan_.delete_job = true;
    } else {
      LookAgain(expires);
    }
    return std::move(plan_);
  }

  // Upstream's order: earlier verdict, pod failures, limits, indexes, success rules.
  std::optional<Verdict> Judge() {
    for (const char* type : {"SuccessCriteriaMet", "FailureTarget"}) {
      if (!ConditionIs(job_, type, "True")) continue;
      const Json& condition = *FindCondition(job_, type);
      return Verdict{std::string_view(type) == "SuccessCriteriaMet",
                     StringAt(condition, {"reason"}), StringAt(condition, {"message"})};
    }
    if (tally_.failing_pod) return Verdict{false, "PodFailurePolicy", *tally_.failing_pod};
    if (tally_.failed > spec_.backoff_limit || RestartsExceedLimit()) {
      return Verdict{false, "BackoffLimitExceeded", "Job has reached the specified backoff limit"};
    }
    if (IsPastDeadline()) {
      return Verdict{false, "DeadlineExceeded", "Job was active longer than specified deadline"};
    }
    if (auto verdict = JudgeIndexes()) return verdict;
    if (auto matched = MatchSuccessPolicy(job_, tally_.succeeded_indexes)) {
      return Verdict{true, "SuccessPolicy", *matched};
    }
    return std::nullopt;
  }

  std::optional<Verdict> JudgeIndexes() const {
    if (!spec_.backoff_limit_per_index) return std::nullopt;
    const auto failed = static_cast<std::int64_t>(tally_.failed_indexes.size());
    if (spec_.max_failed_indexes && failed > *spec_.max_failed_indexes) {
      return Verdict{false, "MaxFailedIndexesExceeded",
                     "Job has exceeded the specified maximal number of failed indexes"};
    }
    if (failed > 0 && failed + tally_.succeeded >= spec_.completions.value_or(0)) {
      return Verdict{false, "FailedIndexes", "Job has failed indexes"};
    }
    return std::nullopt;
  }

  bool RestartsExceedLimit() const {
    if (!spec_.restarts_in_place) return false;
    std::int64_t restarts = 0;
    for (const PodView& pod : view_.pods) {
      if (!pod.is_terminal()) restarts += pod.restarts;
    }
    return spec_.backoff_limit == 0 ? restarts > 0 : restarts >= spec_.backoff_limit;
  }

  bool IsPastDeadline() {
    if (!spec_.active_deadline_seconds || spec_.is_suspended) return false;
    const auto started = TimeAt(status_, {"startTime"});
    if (!started || IsResuming()) return false;  // startTime is reset on resume
    const WallTime deadline = *started + BoundedSeconds(*spec_.active_deadline_seconds);
    if (deadline <= now_) return true;
    LookAgain(deadline);
    return false;
  }

  bool IsResuming() const { return !spec_.is_suspended && ConditionIs(job_, "Suspended", "True"); }

  bool IsComplete() const {
    if (!spec_.completions) return tally_.succeeded > 0 && tally_.active == 0;
    return tally_.succeeded >= *spec_.completions && tally_.active == 0;
  }

  void ManagePods() {
    const std::vector<std::size_t> ranked = RankForDeletion(view_.pods, spec_);
    if (spec_.is_suspended) return Discard(ranked, ranked.size());
    const std::size_t wanted = static_cast<std::size_t>(std::max<std::int64_t>(WantActive(), 0));
    std::size_t superfluous = ranked.size() > wanted ? ranked.size() - wanted : 0;
    superfluous = std::max(superfluous, SuperfluousByIndex(view_.pods, spec_));
    if (superfluous > 0) return Discard(ranked, superfluous);
    const std::int64_t held = tally_.active + (spec_.replaces_only_failed ? tally_.terminating : 0);
    const std::int64_t missing = static_cast<std::int64_t>(wanted) - held;
    if (missing > 0) CreatePods(std::min(static_cast<std::size_t>(missing), kMostPodsAtOnce));
  }

  std::int64_t WantActive() const {
    if (!spec_.completions) return tally_.succeeded > 0 ? tally_.active : spec_.parallelism;
    const auto failed_indexes =
        static_cast<std::int64_t>(spec_.backoff_limit_per_index ? tally_.failed_indexes.size() : 0);
    return std::min(spec_.parallelism, *spec_.completions - tally_.succeeded - failed_indexes);
  }

  void Discard(const std::vector<std::size_t>& ranked, std::size_t count) {
    plan_.discard.assign(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(
                                                              std::min(count, kMostPodsAtOnce)));
    for (const std::size_t at : plan_.discard) {
      --tally_.active;
      ++tally_.terminating;
      if (view_.pods[at].is_ready) --tally_.ready;
    }
  }

  void CreatePods(std::size_t count) {
    if (view_.create_not_before && now_ < *view_.create_not_before) {
      return LookAgain(*view_.create_not_before);
    }
    if (spec_.is_indexed) return CreateIndexed(count);
    const auto backoff = BackoffUntil(view_, std::nullopt);
    if (backoff && now_ < *backoff) return LookAgain(*backoff);
    for (std::size_t at = 0; at < count; ++at) {
      plan_.create.push_back(MakeJobPod(job_, std::nullopt, 0));
    }
    tally_.active += static_cast<std::int64_t>(count);
  }

  void CreateIndexed(std::size_t count) {
    IndexSet taken = tally_.succeeded_indexes;
    taken.insert(tally_.failed_indexes.begin(), tally_.failed_indexes.end());
    for (const PodView& pod : view_.pods) {
      const bool holds = pod.is_active() || (spec_.replaces_only_failed && pod.is_terminating());
      if (holds && pod.index) taken.insert(*pod.index);
    }
    if (!spec_.backoff_limit_per_index) {
      const auto backoff = BackoffUntil(view_, std::nullopt);
      if (backoff && now_ < *backoff) return LookAgain(*backoff);
    }
    const std::int64_t completions = spec_.completions.value_or(0);
    for (std::int64_t index = 0; index < completions && plan_.create.size() < count; ++index) {
      if (taken.count(index) != 0) continue;
      if (spec_.backoff_limit_per_index) {
        const auto backoff = BackoffUntil(view_, index);
        if (backoff && now_ < *backoff) {
          LookAgain(*backoff);
          continue;
        }
      }
      const auto failures = tally_.failures_by_index.find(index);
      plan_.create.push_back(MakeJobPod(
          job_, index, failures == tally_.failures_by_index.end() ? 0 : failures->second));
    }
    tally_.active += static_cast<std::int64_t>(plan_.create.size());
  }

  // A Job that was never suspended has no condition Suspended.
  void FollowSuspension() {
    if (spec_.is_suspended) {
      if (!Set("Suspended", "True", "JobSuspended", "Job suspended")) return;
      status_.erase("startTime");
      plan_.events.push_back({EventType::kNormal, "Suspended", "Job suspended"});
    } else if (ConditionIs(job_, "Suspended", "True")) {
      Set("Suspended", "False", "JobResumed", "Job resumed");
      SetStartTime();
      plan_.events.push_back({EventType::kNormal, "Resumed", "Job resumed"});
    }
  }

  void SetStartTime() {
    status_["startTime"] = FormatTime(now_);
    // Reconciles again at the deadline; the next plan computes it exactly.
    if (spec_.active_deadline_seconds) {
      LookAgain(now_ + BoundedSeconds(*spec_.active_deadline_seconds));
    }
  }

  void WriteCounts() {
    status_["ready"] = tally_.ready;
    status_["terminating"] = tally_.terminating;
    if (tally_.active > 0) {
      status_["active"] = tally_.active;
    } else {
      status_.erase("active");
    }
  }

  void Conclude(const Verdict& verdict) {
    const char* interim = verdict.succeeded ? "SuccessCriteriaMet" : "FailureTarget";
    Set(interim, "True", verdict.reason, verdict.message);
    if (!plan_.remove.empty() || tally_.terminating > 0) return;
    if (!IsCountingDone(view_, status_)) return;
    Set(verdict.succeeded ? "Complete" : "Failed", "True", verdict.reason, verdict.message);
    if (!status_.contains("startTime")) status_["startTime"] = FormatTime(now_);  // no pod needed
    if (verdict.succeeded) {
      status_["completionTime"] = FormatTime(now_);
      plan_.events.push_back({EventType::kNormal, "Completed", "Job completed"});
    } else {
      plan_.events.push_back({EventType::kWarning, verdict.reason, verdict.message});
    }
    if (spec_.ttl_seconds_after_finished) {
      LookAgain(now_ + BoundedSeconds(*spec_.ttl_seconds_after_finished));
    }
  }

  bool Set(const std::string& type, const std::string& value, const std::string& reason,
           const std::string& message) {
    if (!SetCondition(status_, {type, value, reason, message}, now_)) return false;
    for (Json& condition : status_["conditions"]) {
      if (StringAt(condition, {"type"}) == type) condition["lastProbeTime"] = FormatTime(now_);
    }
    return true;
  }

  void LookAgain(WallTime at) {
    if (!plan_.look_again || at < *plan_.look_again) plan_.look_again = at;
  }

  const JobView& view_;
  const Json& job_;
  const WallTime now_;
  const JobSpec spec_;
  JobTally tally_;
  Json status_;
  JobPlan plan_;
};

}  // namespace

JobPlan PlanJob(const JobView& view, WallTime now) { return JobPlanner(view, now).Run(); }

}  // namespace berth::local::cluster

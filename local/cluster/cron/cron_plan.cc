#include "local/cluster/cron/cron_plan.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/cron_schedule.h"
#include "base/rfc3339.h"
#include "base/seconds.h"
#include "local/cluster/jobs/job_state.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/replicas/ownership.h"

namespace berth::local::cluster {
namespace {

constexpr char kScheduledAt[] = "batch.kubernetes.io/cronjob-scheduled-timestamp";
constexpr int kManyMissed = 100;

bool IsFailed(const Json& job) { return ConditionIs(job, "Failed", "True"); }

// By start, then by name; Jobs without a start come last.
bool StartedBefore(const Object& a, const Object& b) {
  const auto start = [](const Object& job) {
    return std::pair(TimeAt(*job, {"status", "startTime"}).value_or(WallTime::max()), NameOf(*job));
  };
  return start(a) < start(b);
}

class CronPlanner {
 public:
  CronPlanner(const CronView& view, WallTime now)
      : view_(view),
        cron_(*view.cron_job),
        now_(now),
        status_(cron_.value("status", Json::object())) {
    if (!status_.is_object()) status_ = Json::object();
  }

  CronPlan Run() {
    UpdateActive();
    RemoveHistory("successfulJobsHistoryLimit", false);
    RemoveHistory("failedJobsHistoryLimit", true);
    if (!IsDeleting(cron_) && !BoolAt(cron_, {"spec", "suspend"})) Schedule();
    plan_.status = std::move(status_);
    return std::move(plan_);
  }

 private:
  void Note(EventType type, const char* reason, std::string message) {
    plan_.events.push_back({type, reason, std::move(message)});
  }

  // status.active names the Jobs of the schedule that have not finished.
  void UpdateActive() {
    std::set<std::string> active;
    for (const Json& one : ArrayAt(status_, {"active"})) active.insert(StringAt(one, {"uid"}));
    std::set<std::string> known;
    for (const Object& job : view_.jobs) {
      const std::string uid = UidOf(*job);
      known.insert(uid);
      const bool was_active = active.count(uid) != 0;
      if (!IsJobFinished(*job)) {
        if (was_active) continue;
        if (IsOfSchedule(*job)) {
          NoteStart(status_, *job);  // its start was not written down
        } else {
          NoteUnexpected(*job);
        }
        continue;
      }
      if (was_active) {
        const char* state = IsFailed(*job) ? "Failed" : "Complete";
        Note(EventType::kNormal, "SawCompletedJob",
             fmt::format("Saw completed job: {}, condition: {}", NameOf(*job), state));
        RemoveActive(uid);
      }
      if (!IsFailed(*job)) NoteSuccess(*job);
    }
    for (const std::string& uid : active) {
      if (known.count(uid) != 0) continue;
      Note(EventType::kNormal, "MissingJob", "Active job went missing: " + ActiveName(uid));
      RemoveActive(uid);
    }
  }

  // Told once, when the Job is new to the CronJob: it counts nowhere.
  void NoteUnexpected(const Json& job) {
    const auto created = TimeAt(job, {"metadata", "creationTimestamp"});
    if (!created || now_ - *created > std::chrono::seconds(1)) return;
    Note(EventType::kWarning, "UnexpectedJob",
         "Saw a job that the controller did not create or forgot: " + NameOf(job));
  }

  bool IsOfSchedule(const Json& job) const {
    const auto at = ParseTime(AnnotationOf(job, kScheduledAt));
    return at && NameOf(job) == JobName(*at);
  }

  std::string ActiveName(const std::string& uid) const {
    for (const Json& one : ArrayAt(status_, {"active"})) {
      if (StringAt(one, {"uid"}) == uid) return StringAt(one, {"name"});
    }
    return "";
  }

  void RemoveActive(const std::string& uid) {
    Json kept = Json::array();
    for (const Json& one : ArrayAt(status_, {"active"})) {
      if (StringAt(one, {"uid"}) != uid) kept.push_back(one);
    }
    if (kept.empty()) {
      status_.erase("active");
    } else {
      status_["active"] = std::move(kept);
    }
  }

  void NoteSuccess(const Json& job) {
    const auto ended = TimeAt(job, {"status", "completionTime"});
    const auto last = TimeAt(status_, {"lastSuccessfulTime"});
    if (ended && (!last || *last < *ended)) status_["lastSuccessfulTime"] = FormatTime(*ended);
  }

  void RemoveHistory(const char* limit_field, bool failed) {
    const auto limit = OptionalIntAt(cron_, {"spec", limit_field});
    if (!limit) return;
    std::vector<Object> finished;
    for (const Object& job : view_.jobs) {
      if (IsJobFinished(*job) && IsFailed(*job) == failed && !IsDeleting(*job)) {
        finished.push_back(job);
      }
    }
    std::sort(finished.begin(), finished.end(), StartedBefore);
    const auto surplus = static_cast<std::int64_t>(finished.size()) - *limit;
    for (std::int64_t at = 0; at < surplus; ++at) {
      plan_.remove.push_back(finished[static_cast<std::size_t>(at)]);
    }
  }

  void Schedule() {
    if (!view_.zone) {
      return Note(EventType::kWarning, "UnknownTimeZone",
                  "invalid timeZone: \"" + StringAt(cron_, {"spec", "timeZone"}) + "\"");
    }
    const auto schedule = CronSchedule::Parse(StringAt(cron_, {"spec", "schedule"}));
    if (!schedule) {
      return Note(EventType::kWarning, "InvalidSchedule",
                  "unparseable schedule: " + schedule.error().message);
    }
    const auto deadline = OptionalIntAt(cron_, {"spec", "startingDeadlineSeconds"});
    const WallTime earliest = Earliest(deadline);
    const auto due = schedule->Latest(earliest, now_, *view_.zone);
    plan_.look_again = schedule->Next(due ? *due : earliest, *view_.zone);
    if (plan_.look_again && *plan_.look_again <= now_) {
      plan_.look_again = schedule->Next(now_, *view_.zone);
    }
    if (!due) return;
    WarnOfMissed(*schedule, earliest);
    if (deadline && *due + BoundedSeconds(*deadline) < now_) {
      return Note(EventType::kWarning, "MissSchedule",
                  "Missed scheduled time to start a job: " + FormatTime(*due));
    }
    Start(*due);
  }

  WallTime Earliest(const std::optional<std::int64_t>& deadline) const {
    WallTime earliest =
        TimeAt(cron_, {"metadata", "creationTimestamp"}).value_or(CutToSeconds(now_));
    if (const auto last = TimeAt(status_, {"lastScheduleTime"})) earliest = *last;
    if (deadline) earliest = std::max(earliest, now_ - BoundedSeconds(*deadline));
    return earliest;
  }

  void WarnOfMissed(const CronSchedule& schedule, WallTime earliest) {
    int missed = 0;
    for (auto at = schedule.Next(earliest, *view_.zone); at && *at <= now_ && missed <= kManyMissed;
         at = schedule.Next(*at, *view_.zone)) {
      ++missed;
    }
    if (missed <= kManyMissed) return;
    Note(EventType::kWarning, "TooManyMissedTimes",
         "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check "
         "clock skew");
  }

  std::string JobName(WallTime due) const {
    const auto minutes = std::chrono::floor<std::chrono::minutes>(due.time_since_epoch()).count();
    return NameOf(cron_) + "-" + std::to_string(minutes);
  }

  void Start(WallTime due) {
    const std::string name = JobName(due);
    for (const Object& job : view_.jobs) {
      if (NameOf(*job) != name) continue;
      status_["lastScheduleTime"] = FormatTime(due);
      return;
    }
    const std::string policy = StringAt(cron_, {"spec", "concurrencyPolicy"}, "Allow");
    if (!ArrayAt(status_, {"active"}).empty()) {
      if (policy == "Forbid") {
        return Note(EventType::kNormal, "JobAlreadyActive",
                    "Not starting job because prior execution is running and concurrency policy "
                    "is Forbid");
      }
      if (policy == "Replace") Replace();
    }
    plan_.create = MakeJob(name, due);
  }

  void Replace() {
    for (const Json& one : ArrayAt(cron_, {"status", "active"})) {
      for (const Object& job : view_.jobs) {
        if (UidOf(*job) == StringAt(one, {"uid"}) && !IsJobFinished(*job)) {
          plan_.replace.push_back(job);
        }
      }
    }
    status_.erase("active");
  }

  Json MakeJob(const std::string& name, WallTime due) const {
    Json job = {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", Json::object()}};
    const Json* pattern = Find(cron_, {"spec", "jobTemplate"});
    for (const char* copied : {"labels", "annotations"}) {
      const Json* values = pattern == nullptr ? nullptr : Find(*pattern, {"metadata", copied});
      if (values != nullptr) job["metadata"][copied] = *values;
    }
    job["metadata"]["name"] = name;
    job["metadata"]["namespace"] = NamespaceOf(cron_);
    job["metadata"]["annotations"][kScheduledAt] = FormatTime(due);
    job["metadata"]["ownerReferences"] = Json::array({ControllerReferenceTo(cron_)});
    const Json* spec = pattern == nullptr ? nullptr : Find(*pattern, {"spec"});
    job["spec"] = spec == nullptr ? Json::object() : *spec;
    return job;
  }

  const CronView& view_;
  const Json& cron_;
  const WallTime now_;
  Json status_;
  CronPlan plan_;
};

}  // namespace

CronPlan PlanCronJob(const CronView& view, WallTime now) { return CronPlanner(view, now).Run(); }

void NoteStart(Json& status, const Json& job) {
  Json reference = {{"kind", "Job"},
                    {"apiVersion", "batch/v1"},
                    {"namespace", NamespaceOf(job)},
                    {"name", NameOf(job)},
                    {"uid", UidOf(job)},
                    {"resourceVersion", StringAt(job, {"metadata", "resourceVersion"})}};
  status["active"].push_back(std::move(reference));
  const auto at = ParseTime(AnnotationOf(job, kScheduledAt));
  const auto last = TimeAt(status, {"lastScheduleTime"});
  if (at && (!last || *last < *at)) status["lastScheduleTime"] = FormatTime(*at);
}

}  // namespace berth::local::cluster

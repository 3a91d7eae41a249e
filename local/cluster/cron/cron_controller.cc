#include "local/cluster/cron/cron_controller.h"

#include "local/cluster/objects/resource_ids.h"
#include "local/cluster/replicas/claiming.h"
#include "local/cluster/replicas/ownership.h"

namespace berth::local::cluster {

CronController::CronController(Api& api, ObjectCache& cache, Executor& executor,
                               Executor& event_writes, const Clock& clock)
    : cache_(cache),
      clock_(clock),
      writer_(api, cache, "kube-controller-manager"),
      events_(api, clock, executor, event_writes, "cronjob-controller"),
      cron_jobs_(
          executor, "cronjob", [this](const ObjectKey& key) { return Look(key); },
          LookOptions(clock)) {
  AddOwnerIndexes(cache_, kJobs);
  cache_.Listen(kCronJobs,
                [this](const ObjectChange& change) { cron_jobs_.Add(KeyOf(change.any())); });
  cache_.Listen(kJobs, [this](const ObjectChange& change) {
    const Json* owner = ControllerRef(change.any());
    if (owner == nullptr || StringAt(*owner, {"kind"}) != "CronJob") return;
    cron_jobs_.Add({NamespaceOf(change.any()), StringAt(*owner, {"name"})});
  });
}

void CronController::Start() {
  for (const Object& cron_job : cache_.All(kCronJobs)) cron_jobs_.Add(KeyOf(*cron_job));
  cron_jobs_.Start();
}

Result<NextLook> CronController::Look(const ObjectKey& key) {
  const Object cron_job = cache_.Get(kCronJobs, key);
  if (cron_job == nullptr) return NextLook{};
  CronView view;
  view.cron_job = cron_job;
  view.jobs = cache_.ByIndex(kJobs, kByOwner, OwnerKeyOf(*cron_job));
  const std::string name = StringAt(*cron_job, {"spec", "timeZone"});
  auto zone = LoadTimeZone(name.empty() ? "UTC" : name);
  if (zone) view.zone = std::move(*zone);
  CronPlan plan = PlanCronJob(view, clock_.Now());
  const auto again = plan.look_again;
  BERTH_CHECK_OK(Perform(view, std::move(plan)));
  return LookAt(again, clock_.Now());
}

Status CronController::Perform(const CronView& view, CronPlan plan) {
  const Json& cron_job = *view.cron_job;
  for (const Object& job : plan.replace) BERTH_CHECK_OK(Remove(cron_job, *job));
  if (plan.create && !CreateJob(cron_job, *plan.create, plan.status)) {
    return Error{ErrorCode::kUnavailable, "no Job"};  // tried again after a pause
  }
  for (const Object& job : plan.remove) BERTH_CHECK_OK(Remove(cron_job, *job));
  for (const PlannedEvent& event : plan.events) {
    events_.Record(cron_job, event.type, event.reason, event.message);
  }
  return Settled(writer_.EditStatus(kCronJobs, KeyOf(cron_job), UidOf(cron_job), [&](Json& one) {
    if (one.value("status", Json::object()) == plan.status) return false;
    one["status"] = plan.status;
    return true;
  }));
}

Status CronController::Remove(const Json& cron_job, const Json& job) {
  DeleteOptions options;
  options.propagation_policy = "Background";
  BERTH_CHECK_OK(writer_.Delete(kJobs, job, options));
  events_.Record(cron_job, EventType::kNormal, "SuccessfulDelete", "Deleted job " + NameOf(job));
  return OkStatus();
}

bool CronController::CreateJob(const Json& cron_job, const Json& job, Json& status) {
  const auto created = writer_.Create(kJobs, NamespaceOf(cron_job), job);
  if (created) {
    events_.Record(cron_job, EventType::kNormal, "SuccessfulCreate",
                   "Created job " + NameOf(**created));
    NoteStart(status, **created);
    return true;
  }
  events_.Record(cron_job, EventType::kWarning, "FailedCreate",
                 "Error creating job: " + created.error().message);
  return false;
}

}  // namespace berth::local::cluster

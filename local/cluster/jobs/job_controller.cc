#include "local/cluster/jobs/job_controller.h"

#include "local/cluster/objects/resource_ids.h"

namespace berth::local::cluster {
namespace {

constexpr char kByController[] = "controller";
// Pods are created and become ready in batches: one reconcile and one status per interval.
constexpr Duration kPodBatch = std::chrono::milliseconds(100);

// The end of a pod lets the Job progress.
bool IsUrgent(const ObjectChange& change) {
  if (change.current == nullptr) return true;
  const bool was_tracked =
      change.previous != nullptr && HasFinalizer(*change.previous, kJobTrackingFinalizer);
  return HasEnded(*change.current) || IsDeleting(*change.current) ||
         was_tracked != HasFinalizer(*change.current, kJobTrackingFinalizer);
}

bool IsOurs(const Json& job) {
  const std::string manager = StringAt(job, {"spec", "managedBy"});
  return manager.empty() || manager == "kubernetes.io/job-controller";
}

bool IsNamespaceEnding(const ApiError& error) {
  for (const Json& cause : ArrayAt(error.details, {"causes"})) {
    if (StringAt(cause, {"reason"}) == "NamespaceTerminating") return true;
  }
  return false;
}

}  // namespace

JobController::JobController(Api& api, ObjectCache& cache, Executor& executor,
                             Executor& event_writes, const Clock& clock)
    : cache_(cache),
      clock_(clock),
      writer_(api, cache, "kube-controller-manager"),
      events_(api, clock, executor, event_writes, "job-controller"),
      jobs_(
          executor, "job", [this](const ObjectKey& key) { return LookAtJob(key); },
          LookOptions(clock)),
      orphans_(
          executor, "job-orphan", [this](const ObjectKey& key) { return LookAtOrphan(key); },
          LookOptions(clock)) {
  cache_.AddIndex(kPods, kByController, ControllerKeysOf);
  cache_.Listen(kPods, [this](const ObjectChange& change) { OnPod(change); });
  cache_.Listen(kJobs, [this](const ObjectChange& change) {
    jobs_.Add(KeyOf(change.any()));
    if (change.current != nullptr) return;
    create_backoffs_.erase(KeyOf(*change.previous));
    for (const Object& pod : cache_.ByIndex(kPods, kByController, OwnerKeyOf(*change.previous))) {
      orphans_.Add(KeyOf(*pod));
    }
  });
}

void JobController::Start() {
  for (const Object& job : cache_.All(kJobs)) jobs_.Add(KeyOf(*job));
  for (const Object& pod : cache_.All(kPods)) {
    if (HasFinalizer(*pod, kJobTrackingFinalizer)) orphans_.Add(KeyOf(*pod));
  }
  jobs_.Start();
  orphans_.Start();
}

void JobController::OnPod(const ObjectChange& change) {
  const Json& pod = change.any();
  const Json* owner = ControllerRef(pod);
  if (owner != nullptr && StringAt(*owner, {"kind"}) == "Job") {
    jobs_.AddAfter({NamespaceOf(pod), StringAt(*owner, {"name"})},
                   IsUrgent(change) ? Duration::zero() : kPodBatch);
  }
  if (change.current != nullptr && HasFinalizer(pod, kJobTrackingFinalizer)) {
    orphans_.Add(KeyOf(pod));
  }
}

JobView JobController::View(const Object& job, const ObjectKey& key) const {
  JobView view;
  view.job = job;
  for (const Object& pod : cache_.ByIndex(kPods, kByController, OwnerKeyOf(*job))) {
    view.pods.push_back(ViewPod(pod));
  }
  const auto backoff = create_backoffs_.find(key);
  if (backoff != create_backoffs_.end()) view.create_not_before = backoff->second.until;
  return view;
}

Result<NextLook> JobController::LookAtJob(const ObjectKey& key) {
  const Object job = cache_.Get(kJobs, key);
  if (job == nullptr || !IsOurs(*job)) return NextLook{};
  const JobView view = View(job, key);
  const JobPlan plan = PlanJob(view, clock_.Now());
  BERTH_CHECK_OK(Perform(key, view, plan));
  return LookAt(plan.look_again, clock_.Now());
}

Status JobController::Perform(const ObjectKey& key, const JobView& view, const JobPlan& plan) {
  BERTH_CHECK_OK(RemovePods(view, plan));
  if (!plan.create.empty()) CreatePods(key, view, plan);
  // The status counts every pod of the plan; after a failure the next plan counts existing pods.
  const auto backoff = create_backoffs_.find(key);
  const bool some_failed = backoff != create_backoffs_.end() && !plan.create.empty();
  if (some_failed) jobs_.Add(key);
  if (plan.status && !some_failed) {
    Json job = *view.job;
    job["status"] = *plan.status;
    const auto written = writer_.Replace(kJobs, "status", job);
    if (!written) return ToError(written.error());
  }
  if (!some_failed) {
    for (const std::size_t at : plan.release) BERTH_CHECK_OK(Release(*view.pods[at].object));
    for (const PlannedEvent& event : plan.events) {
      events_.Record(*view.job, event.type, event.reason, event.message);
    }
  }
  if (!plan.delete_job) return OkStatus();
  DeleteOptions options;
  options.propagation_policy = "Foreground";
  return writer_.Delete(kJobs, *view.job, options);
}

Status JobController::RemovePods(const JobView& view, const JobPlan& plan) {
  const auto remove = [&](const PodView& pod) -> Status {
    BERTH_CHECK_OK(writer_.Delete(kPods, *pod.object));
    events_.Record(*view.job, EventType::kNormal, "SuccessfulDelete", "Deleted pod: " + pod.name);
    return OkStatus();
  };
  for (const std::size_t at : plan.discard) {
    BERTH_CHECK_OK(Release(*view.pods[at].object));
    BERTH_CHECK_OK(remove(view.pods[at]));
  }
  for (const std::size_t at : plan.remove) BERTH_CHECK_OK(remove(view.pods[at]));
  return OkStatus();
}

void JobController::CreatePods(const ObjectKey& key, const JobView& view, const JobPlan& plan) {
  for (const Json& pod : plan.create) {
    const auto created = writer_.Create(kPods, key.namespace_name, pod);
    if (created) {
      events_.Record(*view.job, EventType::kNormal, "SuccessfulCreate",
                     "Created pod: " + NameOf(**created));
      continue;
    }
    create_backoffs_[key].OnFailure(clock_.Now(), created.error().message);
    if (!IsNamespaceEnding(created.error())) {
      events_.Record(*view.job, EventType::kWarning, "FailedCreate",
                     "Error creating: " + created.error().message);
    }
    return;
  }
  create_backoffs_.erase(key);
}

Status JobController::Release(const Json& pod) {
  const auto edited = writer_.Edit(kPods, KeyOf(pod), UidOf(pod), "", [](Json& one) {
    return RemoveFinalizer(one, kJobTrackingFinalizer);
  });
  if (edited || edited.error().reason == "NotFound") return OkStatus();
  return ToError(edited.error());
}

Result<NextLook> JobController::LookAtOrphan(const ObjectKey& key) {
  const Object pod = cache_.Get(kPods, key);
  if (pod == nullptr || !HasFinalizer(*pod, kJobTrackingFinalizer)) return NextLook{};
  const Json* owner = ControllerRef(*pod);
  if (owner != nullptr) {
    const Object job = cache_.Get(kJobs, {key.namespace_name, StringAt(*owner, {"name"})});
    if (job != nullptr && UidOf(*job) == StringAt(*owner, {"uid"})) return NextLook{};
  }
  BERTH_CHECK_OK(Release(*pod));
  return NextLook{};
}

}  // namespace berth::local::cluster

#include "integrations/action_plan.h"

#include <algorithm>

#include "api/holds.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "integrations/annotation_plan.h"
#include "integrations/pods_ready_condition.h"
#include "integrations/release.h"
#include "integrations/slice_plan.h"

namespace berth::integrations {
namespace {

constexpr EmitEvent::Type kNormal = EmitEvent::Type::kNormal;

// Why a job is stopped; the reason of the condition that bare pods get.
constexpr char kNoMatchingWorkload[] = "NoMatchingWorkload";
constexpr char kWorkloadDeleted[] = "WorkloadDeleted";
constexpr char kNotAdmitted[] = "NotAdmitted";
constexpr char kEvictedDueTo[] = "WorkloadEvictedDueTo";  // and the reason of the eviction

// One pass over the steps of the reconcile order. Each step returns whether it ends the pass.
class Planner {
 public:
  Planner(const JobSituation& situation, WallTime now)
      : in_(situation), job_(situation.job), now_(now) {}

  JobPlan Run() {
    if (in_.namespace_rule == NamespaceRule::kUnmanaged) return std::move(plan_);
    if (job_.skipped) return PlanSkippedJob(in_);
    if (in_.nested_too_deep) return PlanNestedJob();
    if (in_.ancestor) return FollowAncestor();
    const bool prebuilt = PrebuiltName() != nullptr;
    if (QueueNameOf(job_).empty() && !prebuilt && in_.queue_name_rule == QueueNameRule::kRequired) {
      return std::move(plan_);
    }
    if (!job_.problem.empty()) return ReportProblem();
    const api::Workload* workload = prebuilt       ? FindPrebuilt()
                                    : job_.elastic ? EnsureSlice()
                                                   : EnsureOne();
    if (settled_) return std::move(plan_);
    Drive(workload);
    return std::move(plan_);
  }

 private:
  const std::string* PrebuiltName() const { return PrebuiltWorkloadOf(job_.meta); }
  const BarePods::Group* PodGroup() const {
    return job_.bare_pods && job_.bare_pods->group ? &*job_.bare_pods->group : nullptr;
  }
  bool Fits(const api::Workload& workload) const {
    if (const BarePods::Group* group = PodGroup()) return group->matches;
    // A pod that has ended has what its start added to it.
    if (job_.bare_pods && job_.finished) {
      const api::OwnerReference* owner = api::ControllerOf(workload.meta);
      return owner != nullptr && owner->uid == job_.meta.uid;
    }
    return IsEquivalent(job_, workload, flavors());
  }
  const FlavorsByName& flavors() const { return in_.flavors ? *in_.flavors : no_flavors_; }

  void Add(JobAction action) { plan_.actions.push_back(std::move(action)); }
  void Event(const char* reason, std::string message) {
    Add(EmitEvent{kNormal, reason, std::move(message), ""});
  }

  JobPlan FollowAncestor() {
    if (!job_.suspended && !job_.finished && !in_.ancestor->admitted) {
      Add(StopJob{});
      Event("Suspended", "Kueue managed child job suspended");
    }
    return std::move(plan_);
  }

  // No Workload can be made of the job: it waits, held, and its Workload of an earlier state goes.
  // While only an object that its description reads is missing, or the state of a running job
  // cannot be read, that Workload is driven on.
  JobPlan ReportProblem() {
    Add(EmitEvent{EmitEvent::Type::kWarning, "ErrWorkloadCompose", job_.problem, ""});
    const api::Workload* workload = OwnWorkload(in_.workloads, job_.meta.uid);
    const bool ends = job_.finished || job_.meta.deletion_timestamp;
    const bool goes_on = job_.lacks_object || (job_.state_unknown && !job_.suspended);
    if (workload != nullptr && (ends || goes_on || workload->meta.deletion_timestamp)) {
      Drive(workload);
    } else if (!ends) {
      Stop(nullptr, kNoMatchingWorkload, job_.problem);
      if (workload != nullptr && IsAtRest()) Add(DeleteWorkload{workload->meta.key()});
    }
    return std::move(plan_);
  }

  // Whether the pods of a group make a Workload. An event tells why not.
  bool CanCompose() {
    const BarePods::Group* group = PodGroup();
    if (group == nullptr || group->problem.empty()) return true;
    Add(EmitEvent{EmitEvent::Type::kWarning, "ErrWorkloadCompose", group->problem, ""});
    return false;
  }

  void Stop(const api::Workload* workload, const std::string& reason, const std::string& message) {
    if (job_.bare_pods) return StopPods(reason, message);
    if (job_.suspended) return Restore(workload);
    Add(StopJob{workload == nullptr ? std::vector<PodSetChange>{} : OriginalPodSets(*workload),
                reason, message, now_});
    if (!job_.stopping) Event("Stopped", message);
  }

  // A deleted Workload takes all its pods with it, those that have ended as well.
  void StopPods(const std::string& reason, const std::string& message) {
    const BarePods& pods = *job_.bare_pods;
    const bool all = reason == kWorkloadDeleted;
    if (reason == kNoMatchingWorkload && job_.suspended) return;
    if (all ? !pods.present : !pods.running) return;
    Add(StopJob{{}, reason, message, now_});
    Event("Stopped", message);
  }

  void FinalizePods() {
    if (job_.bare_pods && job_.bare_pods->held) Add(ReleasePods{});
  }

  // A job that its owner suspended while admitted still has the additions of its start. They go
  // with its quota, else the job would ask for the same flavors for ever.
  void Restore(const api::Workload* workload) {
    const bool changed = job_.has_additions || (workload != nullptr && WasStarted(job_, *workload));
    if (workload == nullptr || job_.active || !changed) return;
    Add(StopJob{OriginalPodSets(*workload)});
  }

  const api::Workload* FindPrebuilt();
  // A group's pods share the Workload; none of them controls it.
  const api::Workload* PrebuiltOfGroup(const api::Workload& workload) {
    if (!api::IsTrue(workload.status.conditions, api::kFinished) && !Fits(workload)) {
      EndOutOfSync(workload);
    }
    return &workload;
  }
  void Hold(const api::Workload* workload) {
    if (workload == nullptr || HasPods()) return;  // they use the quota
    const bool reserved = api::IsTrue(workload->status.conditions, api::kQuotaReserved);
    if (reserved) ReleaseAs(*workload, api::kOnHold, "Job is on hold");
  }
  void ReleaseAs(const api::Workload& workload, const char* reason, const char* message) {
    Add(ReleaseQuota{workload.meta.key(), StatusWithoutQuota(workload, reason, message, now_)});
  }
  void EndOutOfSync(const api::Workload& workload) {
    SetFinished(workload, api::kOutOfSync,
                "The prebuilt workload is out of sync with its user job");
    settled_ = true;
  }
  const api::Workload* EnsureOne();
  const api::Workload* EnsureSlice();
  // Whether the template of a held job was edited while its first slice waits.
  bool IsStale(const SlicePlan& slices) const {
    return slices.is_first && job_.suspended &&
           (!Fits(*slices.slice) || IsMisplaced(job_, *slices.slice));
  }
  bool Update(const api::Workload& workload);
  void Create(const api::Workload* replaced = nullptr);
  void Drive(const api::Workload* workload);
  void FollowDeletion(const api::Workload* workload);
  void Finish(const api::Workload* workload);
  void ReportPodsReady(const api::Workload& workload);
  void FollowEviction(const api::Workload& workload, const api::Condition& evicted);
  void DeleteWhenExpired(const api::Workload& workload, const api::Condition& evicted);
  bool HasPods();
  bool IsAtRest() { return job_.finished || ((job_.suspended || job_.bare_pods) && !HasPods()); }
  void Start(const api::Workload& workload);
  void FollowJob(const api::Workload& workload);
  void FollowPriorityClass(const api::Workload& workload);
  // nullopt: its class does not exist. An event of the job says so, and the plan is retried.
  std::optional<JobPriority> KnownPriority() {
    const auto& classes =
        in_.workload_priority_classes ? *in_.workload_priority_classes : no_classes_;
    Result<JobPriority> priority =
        PriorityOf(job_, classes, in_.priority_classes ? *in_.priority_classes : no_classes_);
    if (priority) return *std::move(priority);
    plan_.retry = priority.error().message;
    Add(EmitEvent{EmitEvent::Type::kWarning, "WorkloadPriorityClassNotFound",
                  priority.error().message, ""});
    return std::nullopt;
  }
  void SetFinished(const api::Workload& workload, const char* reason, std::string message) {
    Add(FinishedBecause(workload, reason, std::move(message), now_));
  }

  const JobSituation& in_;
  const JobView& job_;
  const WallTime now_;
  const FlavorsByName no_flavors_;
  const PriorityClassesByName no_classes_;
  JobPlan plan_;
  bool settled_ = false;
  // The slice of an elastic job that holds quota; null: none.
  const api::Workload* head_slice_ = nullptr;
};

// The prebuilt workload that the job names; the job must match it, not the reverse.
const api::Workload* Planner::FindPrebuilt() {
  for (const api::Workload& workload : in_.workloads) {
    if (workload.meta.name != *PrebuiltName()) continue;
    if (PodGroup() != nullptr) return PrebuiltOfGroup(workload);
    const api::OwnerReference* owner = api::ControllerOf(workload.meta);
    if (owner == nullptr) {
      Add(AdoptWorkload{workload.meta.key(), ReferenceTo(job_)});
      settled_ = true;
      return nullptr;
    }
    if (owner->uid != job_.meta.uid) break;  // owned by another job: treated as missing
    const api::Condition* finished = api::FindCondition(workload.status.conditions, api::kFinished);
    const bool was_out_of_sync = finished != nullptr && finished->reason == api::kOutOfSync;
    if (was_out_of_sync && !job_.finished) break;  // likewise
    if (!api::IsTrue(workload.status.conditions, api::kFinished) &&
        !IsEquivalent(job_, workload, flavors())) {
      EndOutOfSync(workload);
    }
    return &workload;
  }
  if (job_.finished) return nullptr;
  Stop(nullptr, kNoMatchingWorkload, "missing workload");
  settled_ = true;
  return nullptr;
}

// Finds the one workload that matches the job; updates or deletes the others.
const api::Workload* Planner::EnsureOne() {
  const api::Workload* match = nullptr;
  std::vector<const api::Workload*> others;
  for (const api::Workload& workload : in_.workloads) {
    if (job_.elastic && api::IsTrue(workload.status.conditions, api::kFinished)) continue;
    if (match == nullptr && Fits(workload) && !IsMisplaced(job_, workload)) {
      match = &workload;
    } else {
      others.push_back(&workload);
    }
  }
  const auto reserved = [](const api::Workload& workload) {
    return api::IsTrue(workload.status.conditions, api::kQuotaReserved);
  };
  // A workload of an earlier job of this name is not used: it goes with that job.
  const auto is_ours = [this](const api::Workload& workload) {
    if (PodGroup() != nullptr) return true;
    const api::OwnerReference* owner = api::ControllerOf(workload.meta);
    return owner != nullptr && owner->uid == job_.meta.uid;
  };
  if (match == nullptr && !others.empty() && job_.suspended && !reserved(*others.front()) &&
      is_ours(*others.front())) {
    settled_ = true;
    if (Update(*others.front())) others.erase(others.begin());
  }
  // A further object, such as a runtime that many jobs share, was edited: what runs stays as it is.
  if (match == nullptr && job_.reads_objects && !job_.suspended && others.size() == 1 &&
      is_ours(*others.front()) && reserved(*others.front())) {
    return others.front();
  }
  if (match == nullptr && !settled_ && !job_.finished) {
    const bool one = others.size() == 1;
    Stop(one ? others.front() : nullptr, kNoMatchingWorkload,
         one ? "No matching Workload; restoring pod templates according to existent Workload"
             : "Missing Workload; unable to restore pod templates");
  }
  for (const api::Workload* other : others) {
    settled_ = true;
    // The running pods use the quota of the match, or of this workload.
    if (match == nullptr && is_ours(*other) && reserved(*other) && !IsAtRest()) continue;
    if (other->meta.deletion_timestamp) {
      Add(RemoveWorkloadFinalizer{other->meta.key()});
      continue;
    }
    Add(DeleteWorkload{other->meta.key()});
    Event("DeletedWorkload", "Deleted not matching Workload: " + other->meta.key().ToString());
  }
  return match;
}

// Finds the slice of the job's present size, or makes it.
const api::Workload* Planner::EnsureSlice() {
  SlicePlan slices = PlanSlices(job_, in_.workloads, now_);
  for (JobAction& action : slices.actions) Add(std::move(action));
  if (slices.look_again) plan_.look_again = slices.look_again;
  head_slice_ = slices.head;
  if (slices.next == SlicePlan::Next::kOther) return EnsureOne();
  const bool rebuilds = slices.next == SlicePlan::Next::kRebuild || IsStale(slices);
  settled_ = settled_ || rebuilds || slices.next != SlicePlan::Next::kDrive;
  if (slices.next == SlicePlan::Next::kGrow) Create(slices.slice);
  if (rebuilds) Update(*slices.slice);
  if (slices.head != nullptr && slices.head != slices.slice) FollowPriorityClass(*slices.head);
  return slices.slice;
}

bool Planner::Update(const api::Workload& workload) {
  if (!CanCompose()) return false;
  const std::optional<JobPriority> priority = KnownPriority();
  if (!priority) return false;
  api::WorkloadSpec spec = BuildWorkload(job_, *priority, in_.build).spec;
  spec.active = workload.spec.active;  // a deactivated workload stays deactivated
  // The review refuses a spec with fewer pods than are reclaimable.
  if (auto pods = ReclaimableOf(job_, {.meta = {}, .spec = spec, .status = {}});
      !workload.status.reclaimable_pods.empty() && pods != workload.status.reclaimable_pods) {
    Add(SetReclaimablePods{workload.meta.key(), std::move(pods)});
  }
  Add(UpdateWorkloadSpec{workload.meta.key(), std::move(spec)});
  Event("UpdatedWorkload",
        "Updated not matching Workload for suspended job: " + workload.meta.key().ToString());
  return true;
}

// Whether pods exist, terminating ones included: they use the quota.
bool Planner::HasPods() {
  if (job_.active) return true;
  if (!job_.ending_until || *job_.ending_until <= now_) return false;
  if (*job_.ending_until != WallTime::max()) plan_.look_again = *job_.ending_until - now_;
  return true;
}

// `replaced`: the slice of an elastic job that the Workload replaces; null: none.
void Planner::Create(const api::Workload* replaced) {
  if (!job_.elastic && HasPods()) return;  // they belong to an earlier workload with unknown quota
  if (job_.bare_pods && job_.bare_pods->running) return;  // pods that a stop deletes
  if (!CanCompose()) return;
  const std::optional<JobPriority> priority = KnownPriority();
  if (!priority) return;
  api::Workload workload = BuildWorkload(job_, *priority, in_.build);
  if (job_.elastic && HadSlice(in_.workloads, workload.meta.name)) return;
  if (job_.elastic) BecomeSlice(job_, replaced, workload);
  const std::string key = workload.meta.key().ToString();
  Add(CreateWorkload{std::move(workload)});
  Event("CreatedWorkload", "Created Workload: " + key);
}

// The job stays until its finalizers are gone. Nobody may delete its Workloads: without their
// owner, which the deletion may take away, they end.
void Planner::FollowDeletion(const api::Workload* workload) {
  Stop(workload, kWorkloadDeleted, "Job is deleted");
  if (!IsAtRest()) return;
  for (const api::Workload& each : in_.workloads) {
    const api::OwnerReference* owner = api::ControllerOf(each.meta);
    if (owner == nullptr || owner->uid != job_.meta.uid || each.meta.deletion_timestamp ||
        api::IsTrue(each.status.conditions, api::kFinished)) {
      continue;
    }
    Add(EndedWithoutOwner(each, now_));
  }
}

void Planner::Drive(const api::Workload* workload) {
  if (workload != nullptr && workload->meta.deletion_timestamp) {
    if (!job_.finished || job_.bare_pods) Stop(workload, kWorkloadDeleted, "Workload is deleted");
    FinalizePods();
    // The workload keeps the quota until the pods are gone.
    if (IsAtRest()) Add(RemoveWorkloadFinalizer{workload->meta.key()});
    return;
  }
  if (workload != nullptr && api::IsTrue(workload->status.conditions, api::kFinished)) {
    if (api::HasFinalizer(workload->meta, api::kResourceInUseFinalizer)) {
      Add(RemoveWorkloadFinalizer{workload->meta.key()});
    }
    return FinalizePods();
  }
  if (job_.meta.deletion_timestamp && !job_.finished) return FollowDeletion(workload);
  if (job_.on_hold) return Hold(workload);
  if (job_.finished) return Finish(workload);
  if (workload == nullptr) return Create();
  if (!job_.bare_pods && api::IsOnHold(*workload)) {
    return ReleaseAs(*workload, api::kPendingEvaluation,
                     "Job no longer on hold; waiting for quota reservation");
  }
  if (auto pods = ReclaimableOf(job_, *workload); in_.report_reclaimable_pods &&
                                                  job_.problem.empty() &&
                                                  pods != workload->status.reclaimable_pods) {
    Add(SetReclaimablePods{workload->meta.key(), std::move(pods)});
  }
  if (in_.pods_ready_rule == PodsReadyRule::kReport && job_.problem.empty()) {
    ReportPodsReady(*workload);
  }
  const api::Condition* evicted = api::FindCondition(workload->status.conditions, api::kEvicted);
  if (evicted != nullptr && evicted->status == api::ConditionStatus::kTrue) {
    return FollowEviction(*workload, *evicted);
  }
  const bool admitted = api::IsTrue(workload->status.conditions, api::kAdmitted);
  if (job_.suspended && !admitted) {
    if (job_.has_additions) Restore(workload);
    return FollowJob(*workload);
  }
  FollowPriorityClass(*workload);
  if (job_.suspended) return Start(*workload);
  // Completes an interrupted stop first. A slice that holds quota lets an elastic job run on.
  const bool may_run = admitted || (job_.elastic && head_slice_ != nullptr);
  if (!may_run || job_.stopping) Stop(workload, kNotAdmitted, "Not admitted by cluster queue");
}

void Planner::Finish(const api::Workload* workload) {
  if (workload == nullptr) return FinalizePods();
  const JobOutcome& outcome = *job_.finished;
  std::string message = outcome.message;
  if (message.empty()) message = outcome.succeeded ? "Job finished successfully" : "Job failed";
  SetFinished(*workload, outcome.succeeded ? api::kSucceeded : api::kFailed, std::move(message));
  Event("FinishedWorkload",
        "Workload '" + workload->meta.key().ToString() + "' is declared finished");
  FinalizePods();
}

void Planner::ReportPodsReady(const api::Workload& workload) {
  api::Condition condition = PodsReadyCondition(job_, workload);
  const api::Condition* before = api::FindCondition(workload.status.conditions, api::kPodsReady);
  // A workload that waits for quota gets no PodsReady: one write less for every workload, and none
  // that conflicts with the scheduler's.
  if (before == nullptr && !api::IsTrue(workload.status.conditions, api::kAdmitted)) return;
  if (before != nullptr && before->status == condition.status &&
      before->reason == condition.reason) {
    return;
  }
  condition.last_transition_time = CutToSeconds(now_);
  condition.observed_generation = workload.meta.generation;
  Add(SetWorkloadCondition{workload.meta.key(), std::move(condition)});
}

void Planner::FollowEviction(const api::Workload& workload, const api::Condition& evicted) {
  Stop(&workload, kEvictedDueTo + evicted.reason, evicted.message);
  if (HasPods()) return;
  if (!api::IsTrue(workload.status.conditions, api::kQuotaReserved)) {
    // The workload waits as before its first admission: the owner may change its queue.
    if (job_.suspended) FollowJob(workload);
    return DeleteWhenExpired(workload, evicted);
  }
  // A job that is being stopped may start pods: retries once it is at rest.
  if (!job_.suspended && !job_.bare_pods) return;
  Add(ReleaseQuota{workload.meta.key(), StatusAfterRelease(workload, job_, now_)});
}

// objectRetentionPolicies.workloads.afterDeactivatedByKueue: not for workloads that a user has
// deactivated, since the user may reactivate them.
void Planner::DeleteWhenExpired(const api::Workload& workload, const api::Condition& evicted) {
  constexpr std::string_view kByItself = "DeactivatedDueTo";
  if (!in_.keep_deactivated || workload.spec.active || !evicted.reason.starts_with(kByItself)) {
    return;
  }
  const Duration left = *in_.keep_deactivated - (now_ - evicted.last_transition_time);
  if (left > Duration::zero()) {
    plan_.look_again = left;
    return;
  }
  Add(DeleteJob{});
  Event("Deleted", "Deleted job: deactivation retention period expired");
}

void Planner::Start(const api::Workload& workload) {
  if (!job_.problem.empty()) return;  // its templates cannot take the admission
  // A user has suspended the job: it is resumed at once, unless terminating pods use its quota.
  if (!job_.active && HasPods()) return;
  if (job_.bare_pods && !job_.bare_pods->gated) return;
  auto changes = StartChanges(workload, flavors(), in_.workload_name_rule,
                              job_.bare_pods ? StartTarget::kPods : StartTarget::kTemplates);
  if (!changes && changes.error().code == ErrorCode::kInvalid) {
    return SetFinished(workload, api::kFailedToStart, changes.error().message);
  }
  if (!changes) {
    plan_.retry = changes.error().message;
    return;
  }
  GateSlices(job_, *changes);
  Add(StartJob{*std::move(changes)});
  const std::string queue =
      workload.status.admission ? workload.status.admission->cluster_queue : "";
  Event("Started", "Admitted by clusterQueue " + queue);
}

// The job waits: copies its owner's changes of queue and priority to the workload.
void Planner::FollowJob(const api::Workload& workload) {
  if (std::string told = PendingChecksMessage(workload);
      !told.empty() && api::IsTrue(workload.status.conditions, api::kQuotaReserved)) {
    Event("UpdatedAdmissionCheck", std::move(told));
  }
  if (const std::string name = QueueNameOf(job_);
      name != workload.spec.queue_name && PrebuiltName() == nullptr && !job_.queue_is_fixed &&
      !(job_.bare_pods && api::IsTrue(workload.status.conditions, api::kQuotaReserved))) {
    Add(SetQueueName{workload.meta.key(), name});
  }
  for (JobAction& action : PlanAnnotations(job_, workload)) Add(std::move(action));
  FollowPriorityClass(workload);
}

// While a Workload holds quota, the API allows a class to replace another, and nothing else.
void Planner::FollowPriorityClass(const api::Workload& workload) {
  const std::string* label = api::FindValue(job_.meta.labels, api::kPriorityClassLabel);
  if (label == nullptr) return;
  const auto& ref = workload.spec.priority_class_ref;
  const bool of_workloads = ref && ref->group == "kueue.x-k8s.io";
  if (of_workloads && ref->name == *label) return;
  if (!of_workloads && api::IsTrue(workload.status.conditions, api::kQuotaReserved)) return;
  std::optional<JobPriority> priority = KnownPriority();
  if (!priority) return;
  Add(SetPriority{workload.meta.key(), *std::move(priority)});
  Event("UpdatedWorkload", "Updated workload priority class: " + workload.meta.key().ToString());
}

}  // namespace

JobPlan PlanJob(const JobSituation& situation, WallTime now) {
  return Planner(situation, now).Run();
}

}  // namespace berth::integrations

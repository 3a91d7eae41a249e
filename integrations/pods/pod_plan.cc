#include "integrations/pods/pod_plan.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "api/labels.h"
#include "api/pod_groups.h"
#include "api/reasons.h"
#include "integrations/slice_plan.h"
#include "integrations/workload_build.h"

namespace berth::integrations {
namespace {

using Then = ReleasePods::Then;

// A pod that is being deleted gives its quota back at once. A Workload of another job, which the
// pod names as its prebuilt one, goes on.
JobPlan PlanDeletedPod(const QueuedPod& pod, std::vector<api::Workload> workloads, WallTime now) {
  std::erase_if(workloads, [&pod](const api::Workload& workload) {
    const api::OwnerReference* owner = api::ControllerOf(workload.meta);
    return owner != nullptr && (owner->kind != kPod.kind || owner->name != pod.meta.name);
  });
  JobPlan plan = PlanMissingJob(workloads, now);
  if (IsHeld(pod)) plan.actions.emplace_back(ReleasePods{{pod.meta.name}, Then::kLeave});
  return plan;
}

api::OwnerReference OwnerOf(const QueuedPod& pod) {
  return {.api_version = "v1", .kind = "Pod", .name = pod.meta.name, .uid = pod.meta.uid};
}

std::vector<api::OwnerReference> OwnersOf(const std::vector<QueuedPodPtr>& pods) {
  std::vector<api::OwnerReference> owners;
  owners.reserve(pods.size());
  for (const QueuedPodPtr& pod : pods) owners.push_back(OwnerOf(*pod));
  return owners;
}

// One pass over a group.
class GroupPlanner {
 public:
  GroupPlanner(const PodsOfJob& job, JobSituation& situation, WallTime now)
      : job_(job), in_(situation), now_(now) {
    for (const api::Workload& workload : in_.workloads) {
      if (workload.meta.name == job_.group) workload_ = &workload;
    }
  }

  JobPlan Run() {
    if (in_.namespace_rule == NamespaceRule::kUnmanaged || !HasQueue()) return {};
    const std::string* prebuilt = PrebuiltWorkloadOf(job_.first().meta);
    if (prebuilt == nullptr && workload_ != nullptr && !IsOfAGroup(*workload_)) return Refuse();
    std::vector<QueuedPodPtr> members = job_.pods;
    bool matches = true;
    if (prebuilt != nullptr) {
      if (workload_ != nullptr) {
        GroupComparison compared = CompareGroup(job_, *workload_, now_);
        matches = compared.matches;
        // More pods than the Workload counts wait: their parent has not ended the others yet.
        if (matches) members = std::move(compared.kept);
        AddMissingOwners(job_.pods);
      }
    } else if (workload_ != nullptr) {
      matches = Compare(members);
    }
    if (in_.namespace_terminates) ReleaseDeleted();
    if (settled_) return std::move(plan_);
    in_.job = ViewOfGroup(job_, members, now_);
    BarePods::Group group{.name = job_.group, .matches = matches};
    if (prebuilt == nullptr && (workload_ == nullptr || !matches)) Compose(group);
    in_.job.bare_pods->group = std::move(group);
    JobPlan rest = PlanJob(in_, now_);
    for (JobAction& action : rest.actions) plan_.actions.push_back(std::move(action));
    plan_.retry = std::move(rest.retry);
    plan_.look_again = rest.look_again;
    LookAtGrace(members);
    return std::move(plan_);
  }

 private:
  bool HasQueue() const {
    return in_.queue_name_rule == QueueNameRule::kManageWithoutName ||
           job_.first().meta.labels.count(api::kQueueLabel) != 0 ||
           PrebuiltWorkloadOf(job_.first().meta) != nullptr;
  }

  static bool IsOfAGroup(const api::Workload& workload) {
    const std::string* value =
        api::FindValue(workload.meta.annotations, api::kIsGroupWorkloadAnnotation);
    return value != nullptr && *value == "true";
  }

  void Add(JobAction action) { plan_.actions.push_back(std::move(action)); }

  // The finalizer goes from pods that have one.
  void Release(const std::vector<QueuedPodPtr>& pods, Then then) {
    ReleasePods release{.then = then};
    for (const QueuedPodPtr& pod : pods) {
      const bool lives = then == Then::kDelete && !pod->meta.deletion_timestamp;
      if (IsHeld(*pod) || lives) release.names.push_back(pod->meta.name);
    }
    if (!release.names.empty()) Add(std::move(release));
  }

  // No pod can replace those that are being deleted, and the namespace deletes the Workload after
  // them.
  void ReleaseDeleted() {
    std::vector<QueuedPodPtr> deleted;
    std::copy_if(job_.pods.begin(), job_.pods.end(), std::back_inserter(deleted),
                 [](const QueuedPodPtr& pod) { return pod->meta.deletion_timestamp.has_value(); });
    Release(deleted, Then::kLeave);
  }

  void DeleteSurplus(const std::vector<QueuedPodPtr>& pods) {
    Release(pods, Then::kDelete);
    for (const QueuedPodPtr& pod : pods) {
      if (pod->meta.deletion_timestamp) continue;
      Add(EmitEvent{EmitEvent::Type::kNormal, "ExcessPodDeleted", "Excess pod deleted",
                    pod->meta.name});
    }
  }

  // A Workload of the group's name is somebody else's: it is neither taken nor deleted, and its
  // end lets the group go on.
  JobPlan Refuse() {
    std::vector<QueuedPodPtr> inactive;
    for (const QueuedPodPtr& pod : job_.pods) {
      if (!IsRunnable(*pod)) inactive.push_back(pod);
    }
    Release(inactive, Then::kLeave);
    Add(EmitEvent{
        EmitEvent::Type::kWarning, "WorkloadNameConflict",
        "A Workload named \"" + workload_->meta.name +
            "\" already exists but is not a pod group workload; this pod group cannot be admitted",
        ""});
    return std::move(plan_);
  }

  // Removes pods that do not belong to the group; `members` become those that do.
  bool Compare(std::vector<QueuedPodPtr>& members) {
    GroupComparison compared = CompareGroup(job_, *workload_, now_);
    if (workload_->meta.deletion_timestamp) return true;  // all pods go with it
    if (!compared.matches) return false;
    members = std::move(compared.kept);
    AddMissingOwners(members);
    DeleteSurplus(compared.surplus);
    Release(compared.replaced, Then::kLeave);
    if (api::IsTrue(workload_->status.conditions, api::kFinished)) return true;
    if (auto waiting = WaitingCondition(*workload_, compared.absent)) {
      waiting->last_transition_time = CutToSeconds(now_);
      waiting->observed_generation = workload_->meta.generation;
      Add(SetWorkloadCondition{workload_->meta.key(), *std::move(waiting)});
      settled_ = true;
    }
    return true;
  }

  void AddMissingOwners(const std::vector<QueuedPodPtr>& members) {
    const auto& known = workload_->meta.owner_references;
    std::vector<api::OwnerReference> missing;
    for (const QueuedPodPtr& pod : members) {
      const bool owns = std::any_of(
          known.begin(), known.end(),
          [&pod](const api::OwnerReference& each) { return each.uid == pod->meta.uid; });
      if (!owns) missing.push_back(OwnerOf(*pod));
    }
    if (!missing.empty()) Add(AddOwners{workload_->meta.key(), std::move(missing)});
  }

  void Compose(BarePods::Group& group) {
    GroupComposition composed =
        ComposeGroup(job_, in_.build.label_keys_to_copy, in_.build.annotation_keys_to_copy);
    if (workload_ == nullptr && !in_.job.finished) {
      Release(composed.inactive, Then::kLeave);
      if (composed.problem.empty()) DeleteSurplus(composed.surplus);
    }
    group.problem = std::move(composed.problem);
    group.owners = OwnersOf(composed.members);
    in_.job.pod_sets = std::move(composed.pod_sets);
    for (auto& [key, value] : composed.labels) in_.job.meta.labels[key] = std::move(value);
  }

  // A pod past its deletion grace is not active any more, although nothing tells of it.
  void LookAtGrace(const std::vector<QueuedPodPtr>& members) {
    for (const QueuedPodPtr& pod : members) {
      if (!pod->meta.deletion_timestamp || !IsRunning(*pod, now_)) continue;
      const Duration left = *pod->meta.deletion_timestamp - now_ + std::chrono::seconds(1);
      plan_.look_again = std::min(plan_.look_again.value_or(left), left);
    }
  }

  const PodsOfJob& job_;
  JobSituation& in_;
  const WallTime now_;
  const api::Workload* workload_ = nullptr;
  JobPlan plan_;
  bool settled_ = false;
};

// Pods are deleted one by one; a start that a pod refuses ends the Workload.
void Adapt(const PodsOfJob& job, const JobSituation& situation, WallTime now, JobPlan& plan) {
  std::optional<std::string> refusal;
  for (JobAction& action : plan.actions) {
    if (std::holds_alternative<DeleteJob>(action)) {
      ReleasePods all{.then = Then::kDelete};
      for (const QueuedPodPtr& pod : job.pods) all.names.push_back(pod->meta.name);
      action = std::move(all);
    }
    auto* start = std::get_if<StartJob>(&action);
    if (start == nullptr) continue;
    for (const api::Workload& workload : situation.workloads) {
      if (workload.meta.name == job.group) LimitToPodsLeft(job, workload, start->pod_sets);
    }
    for (const QueuedPodPtr& pod : PodsToStart(job, start->pod_sets)) {
      const auto started = StartedPod(*pod, !job.group.empty(), start->pod_sets);
      if (!started && !refusal) refusal = started.error().message;
    }
  }
  if (!refusal) return;
  std::erase_if(plan.actions, [](const JobAction& action) {
    const auto* event = std::get_if<EmitEvent>(&action);
    return std::holds_alternative<StartJob>(action) ||
           (event != nullptr && event->reason == "Started");
  });
  for (const api::Workload& workload : situation.workloads) {
    if (!api::IsTrue(workload.status.conditions, api::kAdmitted)) continue;
    plan.actions.emplace_back(FinishedBecause(workload, api::kFailedToStart, *refusal, now));
    return;
  }
}

}  // namespace

JobPlan PlanPods(const PodsOfJob& job, JobSituation situation, WallTime now) {
  situation.nested_too_deep = false;
  situation.ancestor.reset();  // the webhook leaves the pods of queued owners alone
  JobPlan plan;
  if (!job.group.empty()) {
    plan = GroupPlanner(job, situation, now).Run();
  } else if (job.first().meta.deletion_timestamp) {
    return PlanDeletedPod(job.first(), std::move(situation.workloads), now);
  } else {
    situation.job = ViewOfPod(job.first());
    plan = PlanJob(situation, now);
  }
  Adapt(job, situation, now, plan);
  return plan;
}

}  // namespace berth::integrations

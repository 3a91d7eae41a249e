#include "integrations/held_job.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/held_jobs.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "base/strings.h"
#include "integrations/held_parts.h"
#include "integrations/pods/pod_group.h"
#include "integrations/workload_name.h"

namespace berth::integrations {
namespace {

using LivePods = std::vector<QueuedPodPtr>;

// The time for the operator to retire the workers of a preempted growth; its handlers try again
// after one minute. Workers that are left then are deleted.
constexpr Duration kRetireTime = std::chrono::minutes(3);
constexpr Duration kMakersGo = std::chrono::seconds(2);
// The later one of two reservations is preempted first, and times of conditions are whole seconds:
// a growth asks for quota in a later second than the one that its job got it in.
constexpr Duration kGrowthFollows = std::chrono::seconds(1);
// The webhook that reviews a pod may not have seen the pod's new job yet. A pod that was missed for
// this reason is deleted only once it is this old.
constexpr Duration kReviewLag = std::chrono::seconds(2);
constexpr Duration kMaxReviewLag = std::chrono::seconds(30);

// Whether the pod uses its quota. A pod that is being deleted does until its grace has passed.
bool UsesQuota(const QueuedPod& pod, WallTime now) {
  if (!IsLive(pod)) return false;
  if (!pod.meta.deletion_timestamp) return true;
  return !pod.pod_template.spec.node_name.empty() && now <= *pod.meta.deletion_timestamp;
}

std::vector<std::string> NamesOf(const LivePods& pods) {
  std::vector<std::string> names;
  names.reserve(pods.size());
  for (const QueuedPodPtr& pod : pods) names.push_back(pod->meta.name);
  return names;
}

class HeldPlanner {
 public:
  HeldPlanner(const HeldJob& job, const JobSituation& situation, WallTime now)
      : job_(job), in_(situation), now_(now) {}

  JobPlan Run() {
    // An object without the annotation is not held, or by another kind that owns it.
    if (job_.view.skipped || !job_.view.suspended) return {};
    Divide();
    if (main_ != nullptr && MayRun(*main_) && !job_.view.finished &&
        !job_.view.meta.deletion_timestamp && job_.view.problem.empty() && !in_.ancestor &&
        in_.namespace_rule == NamespaceRule::kManaged) {
      PlanParts();
    } else {
      PlanWhole();
    }
    StopMissedPods();
    return std::move(plan_);
  }

 private:
  void Add(JobAction action) { plan_.actions.push_back(std::move(action)); }
  void Event(const char* reason, std::string message) {
    Add(EmitEvent{EmitEvent::Type::kNormal, reason, std::move(message), ""});
  }

  // Takes growths of this job apart from all other Workloads.
  void Divide() {
    for (const api::Workload& workload : in_.workloads) {
      const api::OwnerReference* owner = api::ControllerOf(workload.meta);
      const bool ours = owner != nullptr && owner->uid == job_.view.meta.uid;
      if (ours && GrowthOf(workload) != 0) {
        growths_.push_back(&workload);
        continue;
      }
      others_.push_back(workload);
      if (!ours || HasTrue(workload, api::kFinished)) continue;
      if (main_ == nullptr || HasTrue(workload, api::kQuotaReserved)) main_ = &workload;
    }
    std::sort(growths_.begin(), growths_.end(),
              [](const auto* a, const auto* b) { return GrowthOf(*a) < GrowthOf(*b); });
  }

  void Take(JobPlan part) {
    for (JobAction& action : part.actions) Add(std::move(action));
    if (part.retry) plan_.retry = std::move(part.retry);
    if (part.look_again) LookAgain(*part.look_again);
  }
  void LookAgain(Duration after) {
    plan_.look_again = std::min(plan_.look_again.value_or(after), after);
  }

  JobView ViewOfPods(const LivePods& live, const LivePods& starts, const PodCounts& counts);
  void FixCounts(JobView& view) const;
  void PlanWhole();
  void PlanRestart(const JobView& view);
  void StopMissedPods();

  void PlanParts();
  void PlanMain(const HeldPart& part);
  void PlanGrowth(HeldPart& part);
  void Retire(const HeldPart& part, JobPlan& plan);
  std::vector<std::string> WaitingPods(const std::string& pod_set);
  void Unretire();
  void Finish(const HeldPart& part, JobPlan& plan);

  const HeldJob& job_;
  const JobSituation& in_;
  const WallTime now_;
  const api::Workload* main_ = nullptr;
  std::vector<const api::Workload*> growths_;
  std::vector<api::Workload> others_;  // the main one, and those of earlier jobs of the name
  std::optional<HeldParts> parts_;
  JobPlan plan_;
};

// The facts of the job for the plan of all kinds, with these pods as its own.
JobView HeldPlanner::ViewOfPods(const LivePods& live, const LivePods& starts,
                                const PodCounts& counts) {
  JobView view = job_.view;
  BarePods bare{.gated = !starts.empty()};
  PodCounts ready;
  for (const QueuedPodPtr& pod : live) {
    bare.running = bare.running || HasToStop(*pod);
    bare.present = bare.present || !pod->meta.deletion_timestamp;
    if (pod->ready) ++ready[pod->role];
    if (!UsesQuota(*pod, now_)) continue;
    view.active = true;
    if (!pod->meta.deletion_timestamp) continue;
    LookAgain(*pod->meta.deletion_timestamp - now_ + std::chrono::seconds(1));
  }
  view.suspended = !bare.running || bare.gated;
  view.pods_ready = std::all_of(counts.begin(), counts.end(), [&ready](const auto& each) {
    return CountIn(ready, each.first) >= each.second;
  });
  view.bare_pods = bare;
  return view;
}

// A Workload keeps its counts from its first admission on: a job that has grown comes back with the
// size that it had then. It may come back smaller.
void HeldPlanner::FixCounts(JobView& view) const {
  if (main_ == nullptr) return;
  if (HasTrue(*main_, api::kQuotaReserved)) {
    view.pod_sets = api::JobPodSetsOf(main_->spec);
    return;
  }
  if (api::FindCondition(main_->status.conditions, api::kEvicted) == nullptr) return;
  std::erase_if(view.pod_sets, [this](api::PodSet& pods) {
    for (const api::PodSet& known : main_->spec.pod_sets) {
      if (known.name != pods.name) continue;
      pods.count = std::min(pods.count, known.count);
      return false;
    }
    return true;
  });
}

// The job as one: it waits, stops, or ends. Growths end with it, when no pod uses their quota.
void HeldPlanner::PlanWhole() {
  LivePods live;
  std::copy_if(job_.pods.begin(), job_.pods.end(), std::back_inserter(live),
               [](const QueuedPodPtr& pod) { return IsLive(*pod); });
  JobView view = ViewOfPods(live, {}, {});
  view.pods_ready = false;
  FixCounts(view);
  JobSituation whole = in_;
  whole.job = view;
  whole.workloads = others_;
  // Without quota the Workload asks for what the job wants, and nothing of that is reclaimable.
  if (main_ != nullptr && HasTrue(*main_, api::kQuotaReserved)) {
    whole.job.reclaimable_pods = main_->status.reclaimable_pods;
  }
  JobPlan plan = PlanJob(whole, now_);
  for (JobAction& action : plan.actions) {
    if (auto* stop = std::get_if<StopJob>(&action)) stop->pods = NamesOf(live);
  }
  Take(std::move(plan));
  if (!view.active) {
    for (const api::Workload* growth : growths_) Add(DeleteWorkload{growth->meta.key()});
  }
  PlanRestart(view);
}

// After a stop has deleted the pod whose end would have ended the job.
void HeldPlanner::PlanRestart(const JobView& view) {
  if (!job_.can_restart || view.active || view.bare_pods->running || view.finished ||
      view.meta.deletion_timestamp || main_ == nullptr || in_.ancestor ||
      in_.namespace_rule == NamespaceRule::kUnmanaged) {
    return;
  }
  const auto ends_the_job = [this](const QueuedPodPtr& pod) {
    return pod->role == job_.kind->hold->restart->pod_set;
  };
  if (std::any_of(job_.pods.begin(), job_.pods.end(), ends_the_job)) return;
  if (std::any_of(job_.missed_pods.begin(), job_.missed_pods.end(), ends_the_job)) return;
  Add(RestartJob{});
}

// While the reviews do not know the job, the pod that replaces a deleted one is missed as well. A
// pod stays for as long as the job had existed when the pod was created: each wait is twice as long
// as the last one.
void HeldPlanner::StopMissedPods() {
  if (job_.view.finished || job_.view.meta.deletion_timestamp || in_.ancestor ||
      in_.namespace_rule == NamespaceRule::kUnmanaged) {
    return;
  }
  std::vector<std::string> due;
  for (const QueuedPodPtr& pod : job_.missed_pods) {
    if (pod->meta.deletion_timestamp || HasEnded(*pod)) continue;
    const WallTime created = pod->meta.creation_timestamp;
    const Duration wait = std::clamp<Duration>(created - job_.view.meta.creation_timestamp,
                                               kReviewLag, kMaxReviewLag);
    const Duration age = now_ - created;
    // A clock that was set back does not tell the age.
    if (age >= wait || age < -kMaxReviewLag) {
      due.push_back(pod->meta.name);
    } else {
      LookAgain(wait - age);
    }
  }
  if (due.empty()) return;
  Add(StopJob{
      {}, "NotAdmitted", "The webhook did not find the job of the pod", now_, std::move(due)});
}

void HeldPlanner::PlanParts() {
  parts_.emplace(job_, *main_, growths_);
  parts_->Size();
  std::vector<HeldPart>& all = parts_->all();
  PlanMain(all.front());
  for (std::size_t i = 1; i < all.size(); ++i) PlanGrowth(all[i]);
  Unretire();
  if (!parts_->homeless().empty()) {
    Add(StopJob{{},
                "NotAdmitted",
                "No Workload of the job counts the pod",
                now_,
                NamesOf(parts_->homeless())});
  }
}

// Names the pods that start and stop.
void HeldPlanner::Finish(const HeldPart& part, JobPlan& plan) {
  std::vector<std::string> refused;
  for (JobAction& action : plan.actions) {
    if (auto* stop = std::get_if<StopJob>(&action)) stop->pods = NamesOf(part.live);
    auto* start = std::get_if<StartJob>(&action);
    if (start == nullptr) continue;
    start->workload = part.workload->meta.name;
    for (const QueuedPodPtr& pod : part.starts) {
      const auto started = StartedPod(*pod, true, start->pod_sets);
      if (started) {
        start->pods.push_back(pod->meta.name);
      } else {
        refused.push_back("pod " + pod->meta.name + ": " + started.error().message);
      }
    }
  }
  // The start of a pod that came later is no start of the job.
  if (!part.live.empty()) {
    std::erase_if(plan.actions, [](const JobAction& action) {
      const auto* event = std::get_if<EmitEvent>(&action);
      return event != nullptr && event->reason == "Started";
    });
  }
  for (std::string& message : refused) {
    plan.actions.emplace_back(
        EmitEvent{EmitEvent::Type::kWarning, "ErrWorkloadCompose", std::move(message), ""});
  }
}

void HeldPlanner::PlanMain(const HeldPart& part) {
  JobSituation main = in_;
  main.job = ViewOfPods(part.live, part.starts, part.counts);
  main.job.pod_sets = part.pod_sets;
  main.job.reclaimable_pods = part.reclaimable;
  main.workloads = others_;
  JobPlan plan = PlanJob(main, now_);
  Finish(part, plan);
  Take(std::move(plan));
}

void HeldPlanner::PlanGrowth(HeldPart& part) {
  std::erase_if(part.pod_sets, [](const api::PodSet& pods) { return pods.count <= 0; });
  if (part.workload != nullptr && part.live.empty() && (part.pod_sets.empty() || part.is_empty())) {
    Add(DeleteWorkload{part.workload->meta.key()});
    return Event("DeletedWorkload", "Deleted the Workload of pods that are no longer needed: " +
                                        part.workload->meta.key().ToString());
  }
  if (part.pod_sets.empty()) return;
  if (part.workload == nullptr) {
    const api::Condition* reserved =
        api::FindCondition(main_->status.conditions, api::kQuotaReserved);
    const Duration left = reserved->last_transition_time + kGrowthFollows - now_;
    if (left > Duration::zero()) return LookAgain(std::min(left, kGrowthFollows));
  }
  JobSituation growth = in_;
  growth.job = ViewOfPods(part.live, part.starts, part.counts);
  growth.job.pod_sets = part.pod_sets;
  growth.job.reclaimable_pods = part.reclaimable;
  growth.workloads.clear();
  if (part.workload != nullptr) growth.workloads.push_back(*part.workload);
  JobPlan plan = PlanJob(growth, now_);
  std::string created;
  for (JobAction& action : plan.actions) {
    auto* event = std::get_if<EmitEvent>(&action);
    if (event != nullptr && event->reason == "CreatedWorkload" && !created.empty()) {
      event->message = "Created Workload: " + created;
    }
    auto* create = std::get_if<CreateWorkload>(&action);
    if (create == nullptr) continue;
    const std::string number = std::to_string(part.growth);
    const std::string variant = "growth-" + number;
    create->workload.meta.name = WorkloadName({.kind = job_.view.kind->kind,
                                               .group = job_.view.kind->group,
                                               .name = job_.view.meta.name,
                                               .uid = job_.view.meta.uid,
                                               .variant = variant});
    create->workload.meta.annotations[api::kGrowthAnnotation] = number;
    created = create->workload.meta.key().ToString();
  }
  if (part.is_reserved() && HasTrue(*part.workload, api::kEvicted)) Retire(part, plan);
  Finish(part, plan);
  Take(std::move(plan));
}

// The workers of a preempted growth end through the operator, which asks the job's scheduler which
// ones and lets them hand over their data. Those that are left after kRetireTime are deleted.
void HeldPlanner::Retire(const HeldPart& part, JobPlan& plan) {
  bool waits = false;
  for (const PodGroupSize& group : job_.groups) {
    if (CountIn(part.counts, group.pod_set) == 0) continue;
    const std::int32_t rest = parts_->Admitted(group.pod_set);
    if (group.replicas > rest) {
      if (std::vector<std::string> waiting = WaitingPods(group.pod_set); !waiting.empty()) {
        // The operator counts what makes them, and would retire workers that run in their place.
        Add(DeleteMakers{std::move(waiting)});
        LookAgain(kMakersGo);
        waits = true;
        continue;
      }
      const std::int32_t retired = group.replicas - rest + group.retired;
      Add(ResizeGroup{group.meta, rest, std::to_string(retired) + "@" + std::to_string(rest)});
      Event("RetiringPods", "Retiring " + std::to_string(group.replicas - rest) + " pods of " +
                                group.meta.name + " through its operator");
      waits = true;
    } else if (part.Used(group.pod_set) > 0) {
      waits = true;
    }
  }
  const api::Condition* evicted =
      api::FindCondition(part.workload->status.conditions, api::kEvicted);
  const Duration left = kRetireTime - (now_ - evicted->last_transition_time);
  if (!waits || left <= Duration::zero()) return;
  LookAgain(left);
  std::erase_if(plan.actions, [](const JobAction& action) {
    const auto* event = std::get_if<EmitEvent>(&action);
    return std::holds_alternative<StopJob>(action) ||
           (event != nullptr && event->reason == "Stopped");
  });
}

// The pods that no Workload may start; none where their makers are not known.
std::vector<std::string> HeldPlanner::WaitingPods(const std::string& pod_set) {
  std::vector<std::string> names;
  if (!job_.kind->hold->groups || !job_.kind->hold->groups->deployments) return names;
  for (const QueuedPodPtr& pod : job_.pods) {
    if (pod->role != pod_set || !IsGated(*pod) || pod->meta.deletion_timestamp) continue;
    const bool starts =
        std::any_of(parts_->all().begin(), parts_->all().end(), [&pod](const HeldPart& part) {
          return std::find(part.starts.begin(), part.starts.end(), pod) != part.starts.end();
        });
    if (!starts) names.push_back(pod->meta.name);
  }
  return names;
}

// Gives groups back what a preemption took, as far as it is admitted again.
void HeldPlanner::Unretire() {
  for (const PodGroupSize& group : job_.groups) {
    if (group.retired == 0) continue;
    const std::int32_t wanted = group.replicas + group.retired;
    const std::int32_t replicas = std::min(wanted, parts_->Admitted(group.pod_set));
    if (replicas <= group.replicas) continue;
    const std::int32_t rest = wanted - replicas;
    Add(ResizeGroup{group.meta, replicas,
                    rest == 0 ? "" : std::to_string(rest) + "@" + std::to_string(replicas)});
  }
}

}  // namespace

std::int32_t RetiredPods(const api::StringMap& annotations, std::int32_t replicas) {
  const std::string* text = api::FindValue(annotations, api::kRetiredAnnotation);
  if (text == nullptr) return 0;
  const std::vector<std::string_view> parts = Split(*text, '@');
  if (parts.size() != 2) return 0;
  const std::optional<std::int64_t> retired = ParseInt64(parts[0]);
  const std::optional<std::int64_t> at = ParseInt64(parts[1]);
  if (!retired || !at || *at != replicas || *retired <= 0 || *retired > INT32_MAX - replicas) {
    return 0;
  }
  return static_cast<std::int32_t>(*retired);
}

std::int32_t GrowthOf(const api::Workload& workload) {
  const std::string* text = api::FindValue(workload.meta.annotations, api::kGrowthAnnotation);
  const std::optional<std::int64_t> number = text ? ParseInt64(*text) : std::nullopt;
  return number && *number > 0 && *number < INT32_MAX ? static_cast<std::int32_t>(*number) : 0;
}

JobPlan PlanHeldJob(const HeldJob& job, const JobSituation& situation, WallTime now) {
  return HeldPlanner(job, situation, now).Run();
}

}  // namespace berth::integrations

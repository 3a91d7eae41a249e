#include "integrations/controller/job_reconciler.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "base/strings.h"
#include "integrations/controller/gate_removals.h"
#include "integrations/controller/job_patches.h"
#include "kube/runtime/refused_write.h"

namespace berth::integrations {
namespace {

using kube::PatchType;
using Json = nlohmann::json;

// The time until owners of jobs that a new leader does not know yet are looked up again.
constexpr Duration kOwnersAppear = std::chrono::milliseconds(200);
constexpr Duration kLookAgain = std::chrono::seconds(5);
// The time in which a created Workload is assumed to exist, unseen by the informer.
constexpr Duration kInformerLag = std::chrono::seconds(30);

constexpr char kCreationLatency[] = "kueue_workload_creation_latency_seconds";

// The patch with the version that it is based on: a job that has changed since is a kConflict.
Json BasedOn(const std::string& resource_version, const JobWrite& write) {
  Json patch = *write.patch;
  if (write.type == PatchType::kJson) {
    patch.insert(patch.begin(), Json{{"op", "replace"},
                                     {"path", "/metadata/resourceVersion"},
                                     {"value", resource_version}});
  } else {
    patch["metadata"]["resourceVersion"] = resource_version;
  }
  return patch;
}

template <typename Action>
bool Has(const JobPlan& plan) {
  return std::any_of(plan.actions.begin(), plan.actions.end(), [](const JobAction& action) {
    return std::holds_alternative<Action>(action);
  });
}

Error Named(const Error& error, const std::string& what, const api::ObjectKey& key) {
  return Annotate(error, what + " of " + key.ToString());
}

}  // namespace

// One reconcile of one job. `resource_version` follows the reconcile's writes, so that a stop's
// second write is based on its first.
struct JobReconciler::Pass {
  std::shared_ptr<const JobState> job;
  std::string resource_version;
};

JobReconciler::JobReconciler(const Shared& shared, JobSource& source, JobReconcilerOptions options)
    : manager_(shared.manager),
      clock_(shared.clock),
      owners_(shared.owners),
      tables_(shared.tables),
      source_(source),
      options_(std::move(options)),
      name_(ToLower(source.kind().kind)),
      workloads_(manager_.InformerFor<api::Workload>()),
      namespaces_(manager_.InformerFor<api::Namespace>()),
      writes_(manager_.client(), workloads_, shared.events),
      pod_steps_(manager_.client(), source_),
      pod_owners_({manager_.client(), shared.events, workloads_, source_, writes_}),
      job_events_(shared.events, source_) {}

std::vector<api::Workload> JobReconciler::WorkloadsOf(const api::ObjectKey& job) const {
  std::vector<api::Workload> found = owners_.WorkloadsOf(source_.kind(), job);
  const std::string name = source_.WorkloadNameOf(job);
  if (name.empty()) return found;
  const auto workload = workloads_.Get({job.namespace_name, name});
  if (workload == nullptr) return found;
  // A Workload of this name may be another's.
  const auto owner = source_.OwnerOf(*workload);
  if (owner && owner->key == job) found.push_back(*workload);
  return found;
}

// Reconciles the Workloads whose job is gone.
kube::Sweep JobReconciler::Orphans() const {
  return {.covers =
              [this](const api::ObjectKey& job) {
                return source_.WorkloadNameOf(job).empty() &&
                       owners_.HasWorkload(source_.kind(), job);
              },
          .next = [this](const api::ObjectKey& place) -> std::optional<kube::Sweep::Step> {
            const auto workload = workloads_.After(place);
            if (workload == nullptr) return std::nullopt;
            const auto owner = source_.OwnerOf(*workload);
            std::optional<api::ObjectKey> job;
            if (owner && source_.Meta(owner->key) == nullptr) job = owner->key;
            return kube::Sweep::Step{workload->meta.key(), std::move(job)};
          }};
}

void JobReconciler::Watch(kube::Controller& controller) {
  controller.AddSweep(source_.AllJobs());
  controller.AddSweep(Orphans());
  source_.AddHandler({.on_change =
                          [this, &controller](const api::ObjectMeta& job) {
                            const Duration gathering = source_.GatheringOf(job.key());
                            if (gathering == Duration::zero()) return controller.Add(job.key());
                            controller.AddAfter(job.key(), gathering);
                          },
                      .on_delete =
                          [this, &controller](const api::ObjectMeta& job) {
                            job_events_.Forget(job.uid);
                            created_.erase(job.uid);
                            stopped_.erase(job.uid);
                            lost_.erase(job.uid);
                            starts_.Told(job.uid);
                            controller.Add(job.key());
                          }});
  const auto add_owner = [this, &controller](const auto& workload) {
    if (const auto job = source_.OwnerOf(*workload)) return controller.Add(job->key);
    // A prebuilt workload without owner: adds the jobs that name it.
    for (const api::ObjectKey& job : source_.JobsNaming(workload->meta.key())) controller.Add(job);
  };
  const auto seen = [this, add_owner](const auto& workload) {
    if (const auto job = source_.OwnerOf(*workload)) created_.erase(job->uid);
    add_owner(workload);
  };
  workloads_.AddHandler({.on_add = seen,
                         .on_update = [add_owner](const auto&, const auto& w) { add_owner(w); },
                         .on_delete =
                             [this, add_owner](const auto& workload) {
                               OnLost(*workload);
                               add_owner(workload);
                             }});
}

void JobReconciler::Reconcile(const api::ObjectKey& key, Done done) {
  if (!owners_.are_known()) return done(kube::NextLook{kOwnersAppear});
  // The Workloads of a job that is gone are removed although its kind is not managed any more.
  if (!source_.is_managed() && source_.Meta(key) != nullptr) return done(kube::NextLook{});
  auto pass = std::make_shared<Pass>();
  pass->job = source_.Get(key);
  JobPlan plan;
  if (pass->job == nullptr) {
    plan = PlanMissingJob(WorkloadsOf(key), clock_.Now());
  } else {
    pass->resource_version = pass->job->meta().resource_version;
    if (const auto event = starts_.Take(*pass->job)) Emit(*pass->job, *event);
    plan = pass->job->Plan(Observe(*pass->job), clock_.Now());
    starts_.Expect(*pass->job, plan);
    if (Has<CreateWorkload>(plan) && CreatedLately(pass->job->meta())) {
      return done(kube::NextLook{kLookAgain});
    }
    if (Has<StopJob>(plan)) {
      const Duration wait = stops_.Take(key, clock_.SteadyNow());
      if (wait > Duration::zero()) return done(kube::NextLook{wait});
    }
  }
  std::vector<kube::Step> steps;
  for (const JobAction& action : plan.actions) {
    for (kube::Step& step : StepsFor(pass, action)) steps.push_back(std::move(step));
  }
  const std::optional<Duration> look_again = plan.retry ? kLookAgain : plan.look_again;
  kube::RunSteps(std::move(steps), [done = std::move(done), look_again,
                                    is_missing = pass->job == nullptr](const Status& status) {
    // The garbage collector may be faster with the Workloads of a job that is gone.
    const bool gone = is_missing && !status && status.error().code == ErrorCode::kNotFound;
    if (!status && !gone) return done(status.error());
    done(kube::NextLook{look_again});
  });
}

// Creates the Workload again at once. If the job is gone (unknown yet), it is removed later.
void JobReconciler::OnLost(const api::Workload& workload) {
  const auto owner = source_.OwnerOf(workload);
  const auto job = owner ? source_.Meta(owner->key) : nullptr;
  if (job == nullptr || job->uid != owner->uid ||
      api::IsTrue(workload.status.conditions, api::kFinished)) {
    return;
  }
  const SteadyTime now = clock_.SteadyNow();
  Lost& lost = lost_[job->uid];
  if (now - lost.at > kInformerLag) lost.count = 0;
  lost.at = now;
  ++lost.count;
}

bool JobReconciler::CreatedLately(const api::ObjectMeta& job) {
  const auto lost = lost_.find(job.uid);
  if (lost != lost_.end() && lost->second.count > 1 &&
      clock_.SteadyNow() - lost->second.at < kLookAgain) {
    return true;
  }
  const auto created = created_.find(job.uid);
  if (created == created_.end()) return false;
  if (clock_.SteadyNow() - created->second < kInformerLag) return true;
  created_.erase(created);
  return false;
}

JobSituation JobReconciler::Observe(const JobState& job) const {
  const api::ObjectMeta& meta = job.meta();
  JobSituation situation;
  situation.job = job.View();
  situation.job.elastic = situation.job.elastic && options_.workload_slices;
  situation.workloads = WorkloadsOf(meta.key());
  if (const std::string* name = PrebuiltWorkloadOf(meta)) {
    const auto prebuilt = workloads_.Get({meta.namespace_name, *name});
    const auto has = [&name](const api::Workload& each) { return each.meta.name == *name; };
    if (prebuilt != nullptr &&
        std::none_of(situation.workloads.begin(), situation.workloads.end(), has)) {
      situation.workloads.push_back(*prebuilt);
    }
  }
  for (const std::string& name : job.EarlierWorkloads(situation.workloads)) {
    const auto earlier = workloads_.Get({meta.namespace_name, name});
    if (earlier == nullptr || OwningJobOf(earlier->meta) != nullptr) continue;
    situation.workloads.push_back(*earlier);
  }
  const JobOwners::Ancestry ancestry = owners_.AncestorOf(meta);
  situation.ancestor = ancestry.managed;
  situation.nested_too_deep = ancestry.too_deep;
  const auto space = namespaces_.Get({"", meta.namespace_name});
  situation.namespace_rule = RuleOf(meta.namespace_name, space.get());
  situation.namespace_terminates = space != nullptr && space->terminating;
  situation.queue_name_rule = options_.queue_name_rule;
  situation.pods_ready_rule = options_.pods_ready_rule;
  situation.report_reclaimable_pods = options_.report_reclaimable_pods;
  situation.workload_name_rule = options_.workload_name_rule;
  situation.build = options_.build;
  situation.keep_deactivated = options_.keep_deactivated;
  tables_.Fill(situation);
  return situation;
}

NamespaceRule JobReconciler::RuleOf(const std::string& namespace_name,
                                    const api::Namespace* found) const {
  // The API server labels every namespace with its name; this also serves unseen namespaces.
  api::StringMap labels = found != nullptr ? found->meta.labels : api::StringMap{};
  labels.emplace("kubernetes.io/metadata.name", namespace_name);
  return options_.namespace_selector.Matches(labels) ? NamespaceRule::kManaged
                                                     : NamespaceRule::kUnmanaged;
}

std::vector<kube::Step> JobReconciler::StepsFor(const std::shared_ptr<Pass>& pass,
                                                const JobAction& action) {
  std::vector<kube::Step> steps;
  if (std::vector<PodWrite> writes =
          pass->job ? pass->job->PodWrites(action) : std::vector<PodWrite>{};
      !writes.empty()) {
    return {pod_steps_.All(std::move(writes), ObserverOf(*pass->job, action))};
  }
  if (const auto* create = std::get_if<CreateWorkload>(&action)) {
    steps.push_back(CreateStep(pass, create->workload));
  } else if (const auto* drop = std::get_if<DeleteWorkload>(&action)) {
    steps = {writes_.RemoveFinalizer(drop->key), writes_.Delete(drop->key)};
  } else if (const auto* end = std::get_if<EndWorkload>(&action)) {
    steps.push_back(writes_.Delete(end->key));
  } else if (const auto* release = std::get_if<RemoveWorkloadFinalizer>(&action)) {
    steps.push_back(writes_.RemoveFinalizer(release->key));
  } else if (const auto* start = std::get_if<StartJob>(&action)) {
    stopped_.erase(pass->job->meta().uid);
    stops_.Forget(pass->job->meta().key());
    for (JobWrite& write : pass->job->Start(start->pod_sets)) {
      steps.push_back(JobStep(pass, std::move(write)));
    }
  } else if (const auto* stop = std::get_if<StopJob>(&action)) {
    for (JobWrite& write : pass->job->Stop(stop->originals)) {
      steps.push_back(JobStep(pass, std::move(write)));
    }
    steps.push_back([this, pass](const std::function<void(Status)>& next) {
      stopped_.insert(pass->job->meta().uid);
      next(OkStatus());
    });
  } else if (std::holds_alternative<RestartJob>(action)) {
    for (JobWrite& write : pass->job->Restart()) steps.push_back(JobStep(pass, std::move(write)));
  } else if (const auto* owners = std::get_if<AddOwners>(&action)) {
    steps.push_back(pod_owners_.Add(*owners));
  } else if (std::holds_alternative<DeleteJob>(action)) {
    steps.push_back(DeleteJobStep(pass));
  } else if (const auto* event = std::get_if<EmitEvent>(&action)) {
    steps.push_back([this, pass, what = *event](const std::function<void(Status)>& next) {
      Emit(*pass->job, what);
      next(OkStatus());
    });
  } else {
    steps = writes_.StepsFor(action);
    if (const auto* quota = std::get_if<ReleaseQuota>(&action)) {
      if (MayRunUnseen(*pass->job, quota->key)) {
        steps.insert(steps.begin(),
                     JobStep(pass, {.patch = std::make_shared<const Json>(Json::object())}));
      }
      stopped_.erase(pass->job->meta().uid);
    }
  }
  return steps;
}

// A start takes the gate of admission off pods.
std::function<void()> JobReconciler::ObserverOf(const JobState& job,
                                                const JobAction& action) const {
  const auto* start = std::get_if<StartJob>(&action);
  if (start == nullptr || options_.metrics == nullptr) return nullptr;
  const api::ObjectMeta& meta = job.meta();
  std::vector<api::Workload> started = WorkloadsOf(meta.key());
  const std::string* prebuilt = PrebuiltWorkloadOf(meta);
  for (const std::string& name : {start->workload, prebuilt == nullptr ? "" : *prebuilt}) {
    const auto named = workloads_.Get({meta.namespace_name, name});
    if (named != nullptr) started = {*named};
  }
  std::erase_if(started, [](const api::Workload& each) {
    return !api::IsTrue(each.status.conditions, api::kAdmitted);
  });
  if (started.empty()) return nullptr;
  return [this, workload = std::move(started.front())] {
    ObserveGateRemoval(*options_.metrics, workload, api::kAdmissionGate, clock_.Now());
  };
}

void JobReconciler::Emit(const JobState& job, const EmitEvent& event) {
  if (event.reason == "Started") starts_.Told(job.meta().uid);
  job_events_.Emit(job, event);
}

// Whether the job may have been started by a write whose answer and event are both missing. An
// empty patch, which names the version that was seen, fails then.
bool JobReconciler::MayRunUnseen(const JobState& job, const api::ObjectKey& workload) const {
  return job.IsStartedByAWrite() && !stopped_.contains(job.meta().uid) &&
         api::IsTrue(writes_.Stored(workload).status.conditions, api::kAdmitted);
}

kube::Step JobReconciler::CreateStep(const std::shared_ptr<Pass>& pass,
                                     const api::Workload& workload) {
  return [this, pass, workload](std::function<void(Status)> next) {
    const api::ObjectKey key = workload.meta.key();
    const auto refuse = [this, pass, key](const Error& error) {
      if (kube::IsRefusal(error)) {
        Emit(*pass->job, {EmitEvent::Type::kWarning, "ErrWorkloadCompose", error.message, ""});
      }
      return Status(Named(error, "creation", key));
    };
    if (const std::string wrong = options_.review ? options_.review(workload) : "";
        !wrong.empty()) {
      return next(refuse({ErrorCode::kForbidden, wrong}));
    }
    manager_.client().Create(
        api::KindOf<api::Workload>(), key.namespace_name, api::Encode(workload), {},
        [this, pass, key, refuse, next = std::move(next)](const Result<kube::JsonPtr>& done) {
          // The name exists: an earlier reconcile created it and lost the answer.
          const bool exists = !done && done.error().code == ErrorCode::kAlreadyExists;
          if (!done && !exists) return next(refuse(done.error()));
          const api::ObjectMeta& job = pass->job->meta();
          if (done) OnCreated(job);
          // Records nothing for a job that is gone; the informer may be faster than the answer.
          if (source_.Meta(job.key()) != nullptr && workloads_.Get(key) == nullptr) {
            created_[job.uid] = clock_.SteadyNow();
          }
          next(OkStatus());
        });
  };
}

// For a job that was edited, the start of its wait is unknown.
void JobReconciler::OnCreated(const api::ObjectMeta& job) {
  if (options_.metrics == nullptr || job.generation > 1) return;
  const Duration latency = std::max(clock_.Now() - job.creation_timestamp, Duration::zero());
  options_.metrics->Observe(kCreationLatency, {{"job_kind", std::string(source_.kind().kind)}},
                            std::chrono::duration<double>(latency).count());
}

kube::Step JobReconciler::DeleteJobStep(const std::shared_ptr<Pass>& pass) {
  return [this, pass](std::function<void(Status)> next) {
    const api::ObjectMeta& meta = pass->job->meta();
    manager_.client().Delete(source_.resource(), meta.key(),
                             {.propagation_policy = "Background", .precondition_uid = meta.uid},
                             [key = meta.key(), next = std::move(next)](Status done) {
                               done = OkIfGone(std::move(done));
                               next(done ? done : Status(Named(done.error(), "deletion", key)));
                             });
  };
}

kube::Step JobReconciler::JobStep(const std::shared_ptr<Pass>& pass, JobWrite write) {
  return [this, pass, write = std::move(write)](std::function<void(Status)> next) {
    const api::ObjectKey key = pass->job->meta().key();
    manager_.client().Patch(
        source_.resource(), key, write.type, BasedOn(pass->resource_version, write),
        {.subresource = write.subresource},
        [this, pass, key, next = std::move(next)](Result<kube::JsonPtr> done) {
          if (!done) return next(Named(done.error(), "writing the job", key));
          const Result<api::ObjectMeta> meta = api::Decode<api::ObjectMeta>(**done);
          if (meta) pass->resource_version = meta->resource_version;
          source_.Ingest(**done);
          next(OkStatus());
        });
  };
}

}  // namespace berth::integrations

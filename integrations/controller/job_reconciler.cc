#include "integrations/controller/job_reconciler.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/admission_status.h"
#include "api/codec/codec.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "integrations/controller/job_patches.h"

namespace berth::integrations {
namespace {

using kube::Force;
using kube::PatchType;
using Json = nlohmann::json;

constexpr char kOwnerIndex[] = "owner";
constexpr char kPrebuiltIndex[] = "prebuilt";  // jobs by the Workload that they name
constexpr Duration kLookAgain = std::chrono::seconds(5);
constexpr int kMaxAncestors = 10;
// The time in which a created Workload is assumed to exist, unseen by the informer.
constexpr Duration kInformerLag = std::chrono::seconds(30);

constexpr char kCreationLatency[] = "kueue_workload_creation_latency_seconds";
// creationTimestamp has a resolution of one second.
constexpr double kFirstBucket = 1;
constexpr double kLastBucket = 1280;

std::string JobIndexValue(const std::string& namespace_name, const std::string& name) {
  return "Job/" + namespace_name + "/" + name;
}

bool IsJob(const api::OwnerReference& owner) {
  return owner.kind == kBatchJob.kind && owner.api_version.rfind("batch/", 0) == 0;
}

std::optional<api::ObjectKey> OwningJob(const api::Workload& workload) {
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  if (owner == nullptr || !IsJob(*owner)) return std::nullopt;
  return api::ObjectKey{workload.meta.namespace_name, owner->name};
}

// "namespace/name" of the prebuilt Workload that the job names.
std::vector<std::string> PrebuiltWorkloadOf(const api::Job& job) {
  const std::string* name = api::FindValue(job.meta.labels, api::kPrebuiltWorkloadLabel);
  if (name == nullptr) return {};
  return {api::ObjectKey{job.meta.namespace_name, *name}.ToString()};
}

// A deletion by another client counts as success.
Status Gone(Status status) {
  if (!status && status.error().code == ErrorCode::kNotFound) return OkStatus();
  return status;
}

Error Named(const Error& error, const std::string& what, const api::ObjectKey& key) {
  return Annotate(error, what + " of " + key.ToString());
}

}  // namespace

// One reconcile of one job. `resource_version` follows the reconcile's writes, so that a stop's
// second write is based on its first.
struct JobReconciler::Pass {
  std::shared_ptr<const api::Job> job;
  std::string resource_version;
};

JobReconciler::JobReconciler(kube::Manager& manager, const Clock& clock,
                             kube::EventRecorder& events, JobReconcilerOptions options)
    : manager_(manager),
      clock_(clock),
      events_(events),
      options_(std::move(options)),
      jobs_(manager.InformerFor<api::Job>()),
      workloads_(manager.InformerFor<api::Workload>()),
      namespaces_(manager.InformerFor<api::Namespace>()),
      flavors_(manager.InformerFor<api::ResourceFlavor>()),
      priority_classes_(manager.InformerFor<api::PriorityClass>()),
      workload_priority_classes_(manager.InformerFor<api::WorkloadPriorityClass>()) {
  if (options_.metrics != nullptr) {
    std::vector<double> buckets{kFirstBucket};
    for (double bound = 2.5; bound <= kLastBucket; bound *= 2) buckets.push_back(bound);
    options_.metrics->DeclareHistogram(
        kCreationLatency, "Time from a job's creation to that of its Workload", buckets);
  }
  workloads_.AddIndex(kOwnerIndex, [](const api::Workload& workload) {
    const std::optional<api::ObjectKey> job = OwningJob(workload);
    if (!job) return std::vector<std::string>{};
    return std::vector<std::string>{JobIndexValue(job->namespace_name, job->name)};
  });
  jobs_.AddIndex(kPrebuiltIndex, PrebuiltWorkloadOf);
}

// Reconciles the Workloads whose Job is gone.
kube::Sweep JobReconciler::Orphans() const {
  return {.covers =
              [this](const api::ObjectKey& job) {
                return workloads_.HasIn(kOwnerIndex, JobIndexValue(job.namespace_name, job.name));
              },
          .next = [this](const api::ObjectKey& place) -> std::optional<kube::Sweep::Step> {
            const auto workload = workloads_.After(place);
            if (workload == nullptr) return std::nullopt;
            std::optional<api::ObjectKey> job = OwningJob(*workload);
            if (job && jobs_.Get(*job) != nullptr) job.reset();
            return kube::Sweep::Step{workload->meta.key(), std::move(job)};
          }};
}

void JobReconciler::Watch(kube::Controller& controller) {
  controller.AddSweep(kube::SweepOf(jobs_));
  controller.AddSweep(Orphans());
  const auto add_job = [&controller](const auto& job) { controller.Add(job->meta.key()); };
  jobs_.AddHandler({.on_add = add_job,
                    .on_update = [add_job](const auto&, const auto& job) { add_job(job); },
                    .on_delete =
                        [this, add_job](const auto& job) {
                          last_check_message_.erase(job->meta.uid);
                          created_.erase(job->meta.uid);
                          lost_.erase(job->meta.uid);
                          add_job(job);
                        }});
  const auto add_owner = [this, &controller](const auto& workload) {
    if (const auto job = OwningJob(*workload)) return controller.Add(*job);
    // A prebuilt workload without owner: adds the jobs that name it.
    for (const auto& job : jobs_.ByIndex(kPrebuiltIndex, workload->meta.key().ToString())) {
      controller.Add(job->meta.key());
    }
  };
  const auto seen = [this, add_owner](const auto& workload) {
    if (const api::OwnerReference* owner = api::ControllerOf(workload->meta)) {
      created_.erase(owner->uid);
    }
    add_owner(workload);
  };
  workloads_.AddHandler({.on_add = seen,
                         .on_update = [add_owner](const auto&, const auto& w) { add_owner(w); },
                         .on_delete =
                             [this, add_owner](const auto& workload) {
                               OnLost(*workload);
                               add_owner(workload);
                             }});
  const auto stale = [this](const auto&) { tables_stale_ = true; };
  const auto stale_update = [this](const auto&, const auto&) { tables_stale_ = true; };
  flavors_.AddHandler({.on_add = stale, .on_update = stale_update, .on_delete = stale});
  priority_classes_.AddHandler({.on_add = stale, .on_update = stale_update, .on_delete = stale});
  workload_priority_classes_.AddHandler(
      {.on_add = stale, .on_update = stale_update, .on_delete = stale});
}

void JobReconciler::Reconcile(const api::ObjectKey& key, Done done) {
  auto pass = std::make_shared<Pass>();
  pass->job = jobs_.Get(key);
  JobPlan plan;
  if (pass->job == nullptr) {
    plan = PlanMissingJob(WorkloadsOf(key));
  } else {
    pass->resource_version = pass->job->meta.resource_version;
    plan = PlanJob(Observe(*pass->job), clock_.Now());
    const bool creates =
        !plan.actions.empty() && std::holds_alternative<CreateWorkload>(plan.actions.front());
    if (creates && CreatedLately(*pass->job)) return done(kube::NextLook{kLookAgain});
  }
  std::vector<kube::Step> steps;
  for (const JobAction& action : plan.actions) {
    for (kube::Step& step : StepsFor(pass, action)) steps.push_back(std::move(step));
  }
  const std::optional<Duration> look_again = plan.retry ? kLookAgain : plan.look_again;
  kube::RunSteps(std::move(steps), [done = std::move(done), look_again](const Status& status) {
    if (!status) return done(status.error());
    done(kube::NextLook{look_again});
  });
}

// Creates the Workload again at once. If the job is gone (unknown yet), it is removed later.
void JobReconciler::OnLost(const api::Workload& workload) {
  const auto key = OwningJob(workload);
  const auto job = key ? jobs_.Get(*key) : nullptr;
  if (job == nullptr || job->meta.uid != api::ControllerOf(workload.meta)->uid ||
      api::IsTrue(workload.status.conditions, api::kFinished)) {
    return;
  }
  const SteadyTime now = clock_.SteadyNow();
  Lost& lost = lost_[job->meta.uid];
  if (now - lost.at > kInformerLag) lost.count = 0;
  lost.at = now;
  ++lost.count;
}

bool JobReconciler::CreatedLately(const api::Job& job) {
  const auto lost = lost_.find(job.meta.uid);
  if (lost != lost_.end() && lost->second.count > 1 &&
      clock_.SteadyNow() - lost->second.at < kLookAgain) {
    return true;
  }
  const auto created = created_.find(job.meta.uid);
  if (created == created_.end()) return false;
  if (clock_.SteadyNow() - created->second < kInformerLag) return true;
  created_.erase(created);
  return false;
}

JobSituation JobReconciler::Observe(const api::Job& job) const {
  RefreshTables();
  JobSituation situation;
  situation.job = ViewOf(job);
  situation.workloads = WorkloadsOf(job.meta.key());
  if (const std::string* name = api::FindValue(job.meta.labels, api::kPrebuiltWorkloadLabel)) {
    const auto prebuilt = workloads_.Get({job.meta.namespace_name, *name});
    if (prebuilt != nullptr && OwningJob(*prebuilt) != job.meta.key()) {
      situation.workloads.push_back(*prebuilt);
    }
  }
  situation.ancestor = AncestorOf(job);
  situation.namespace_rule = RuleOf(job.meta.namespace_name);
  situation.queue_name_rule = options_.queue_name_rule;
  situation.pods_ready_rule = options_.pods_ready_rule;
  situation.report_reclaimable_pods = options_.report_reclaimable_pods;
  situation.build = options_.build;
  situation.keep_deactivated = options_.keep_deactivated;
  situation.workload_priority_classes = &workload_priority_class_table_;
  situation.priority_classes = &priority_class_table_;
  situation.flavors = &flavor_table_;
  return situation;
}

void JobReconciler::RefreshTables() const {
  if (!std::exchange(tables_stale_, false)) return;
  flavor_table_.clear();
  priority_class_table_.clear();
  workload_priority_class_table_.clear();
  for (const auto& flavor : flavors_.objects()) flavor_table_[flavor->meta.name] = *flavor;
  for (const auto& each : priority_classes_.objects()) {
    priority_class_table_[each->meta.name] = *each;
  }
  for (const auto& each : workload_priority_classes_.objects()) {
    workload_priority_class_table_[each->meta.name] = *each;
  }
}

std::vector<api::Workload> JobReconciler::WorkloadsOf(const api::ObjectKey& job) const {
  std::vector<api::Workload> result;
  for (const auto& workload :
       workloads_.ByIndex(kOwnerIndex, JobIndexValue(job.namespace_name, job.name))) {
    result.push_back(*workload);
  }
  return result;
}

// The topmost managed owner: an owner with a queue, or any owner where jobs are managed without
// one. Only Jobs count as owners: this reconciler knows no other managed kinds.
std::optional<ManagedAncestor> JobReconciler::AncestorOf(const api::Job& job) const {
  std::shared_ptr<const api::Job> managed;
  const api::OwnerReference* owner = api::ControllerOf(job.meta);
  for (int depth = 0; depth < kMaxAncestors && owner != nullptr && IsJob(*owner); ++depth) {
    const auto parent = jobs_.Get({job.meta.namespace_name, owner->name});
    if (parent == nullptr || parent->meta.uid != owner->uid) break;
    if (parent->meta.uid == job.meta.uid) break;  // they own each other
    if (options_.queue_name_rule == QueueNameRule::kManageWithoutName ||
        parent->meta.labels.count(api::kQueueLabel) > 0) {
      managed = parent;
    }
    owner = api::ControllerOf(parent->meta);
  }
  if (managed == nullptr) return std::nullopt;
  const std::vector<api::Workload> workloads = WorkloadsOf(managed->meta.key());
  const bool admitted =
      !workloads.empty() && api::IsTrue(workloads.front().status.conditions, api::kAdmitted);
  return ManagedAncestor{admitted};
}

NamespaceRule JobReconciler::RuleOf(const std::string& namespace_name) const {
  const auto found = namespaces_.Get({"", namespace_name});
  // The API server labels every namespace with its name; this also serves unseen namespaces.
  api::StringMap labels = found != nullptr ? found->meta.labels : api::StringMap{};
  labels.emplace("kubernetes.io/metadata.name", namespace_name);
  return options_.namespace_selector.Matches(labels) ? NamespaceRule::kManaged
                                                     : NamespaceRule::kUnmanaged;
}

std::vector<kube::Step> JobReconciler::StepsFor(const std::shared_ptr<Pass>& pass,
                                                const JobAction& action) {
  std::vector<kube::Step> steps;
  if (const auto* create = std::get_if<CreateWorkload>(&action)) {
    steps.push_back(CreateStep(pass, create->workload));
  } else if (const auto* drop = std::get_if<DeleteWorkload>(&action)) {
    steps = {FinalizerStep(drop->key), DeleteStep(drop->key)};
  } else if (const auto* release = std::get_if<RemoveWorkloadFinalizer>(&action)) {
    steps.push_back(FinalizerStep(release->key));
  } else if (const auto* start = std::get_if<StartJob>(&action)) {
    steps.push_back(JobStep(pass, StartWrite(*pass->job, start->pod_sets.front())));
  } else if (const auto* stop = std::get_if<StopJob>(&action)) {
    std::optional<PodSetChange> original;
    if (!stop->originals.empty()) original = stop->originals.front();
    for (BatchJobWrite& write : StopWrites(*pass->job, original)) {
      steps.push_back(JobStep(pass, std::move(write)));
    }
  } else if (std::holds_alternative<DeleteJob>(action)) {
    steps.push_back(DeleteJobStep(pass));
  } else if (const auto* event = std::get_if<EmitEvent>(&action)) {
    steps.push_back([this, pass, what = *event](const std::function<void(Status)>& next) {
      Emit(*pass->job, what);
      next(OkStatus());
    });
  } else {
    steps = SpecSteps(action);
  }
  return steps;
}

api::Workload JobReconciler::Stored(const api::ObjectKey& key) const {
  const auto workload = workloads_.Get(key);
  return workload != nullptr ? *workload : api::Workload{};
}

std::vector<kube::Step> JobReconciler::SpecSteps(const JobAction& action) {
  const auto merge = [this](const char* what, const api::ObjectKey& key, Json patch) {
    return std::vector<kube::Step>{
        WorkloadStep(what, key, PatchType::kMerge, std::move(patch), {})};
  };
  if (const auto* a = std::get_if<UpdateWorkloadSpec>(&action)) {
    return merge("updating the spec", a->key, WorkloadSpecPatch(Stored(a->key), a->spec));
  }
  if (const auto* a = std::get_if<AdoptWorkload>(&action)) {
    api::ObjectMeta meta = Stored(a->key).meta;
    meta.owner_references.push_back(a->owner);
    meta.labels[api::kJobUidLabel] = a->owner.uid;
    Json patch = {{"metadata", api::Encode(meta)}};
    patch["metadata"]["resourceVersion"] = meta.resource_version;
    return merge("taking over", a->key, std::move(patch));
  }
  if (const auto* a = std::get_if<SetQueueName>(&action)) {
    return merge("changing the queue", a->key, Json{{"spec", {{"queueName", a->queue_name}}}});
  }
  if (const auto* a = std::get_if<SetPriority>(&action)) {
    Json spec = {{"priority", a->priority.value}, {"priorityClassRef", nullptr}};
    if (const auto& ref = a->priority.ref) {
      spec["priorityClassRef"] = {{"group", ref->group}, {"kind", ref->kind}, {"name", ref->name}};
    }
    return merge("changing the priority", a->key, Json{{"spec", std::move(spec)}});
  }
  return StatusSteps(action);
}

std::vector<kube::Step> JobReconciler::StatusSteps(const JobAction& action) {
  const auto apply = [this](const std::string& what, const api::ObjectKey& key, Json applied,
                            std::string field_manager) {
    return std::vector<kube::Step>{WorkloadStep(what, key, PatchType::kApply, std::move(applied),
                                                {.field_manager = std::move(field_manager),
                                                 .force = Force::kYes,
                                                 .subresource = "status"})};
  };
  if (const auto* a = std::get_if<SetReclaimablePods>(&action)) {
    Json applied = AppliedWorkload(a->key);
    applied["status"] = {{"reclaimablePods", api::Encode(a->pods)}};
    return apply("reporting reclaimable pods", a->key, std::move(applied),
                 api::kReclaimablePodsManager);
  }
  if (const auto* a = std::get_if<SetWorkloadCondition>(&action)) {
    Json applied = AppliedWorkload(a->key);
    applied["status"] = {{"conditions", Json::array({api::Encode(a->condition)})}};
    return apply("setting " + a->condition.type, a->key, std::move(applied),
                 api::kJobControllerManagerPrefix + a->condition.type);
  }
  if (const auto* a = std::get_if<ReleaseQuota>(&action)) {
    return apply("releasing the quota", a->key,
                 api::AdmissionStatusPatch(Stored(a->key), a->status), api::kAdmissionManager);
  }
  return {};
}

kube::Step JobReconciler::WorkloadStep(const std::string& what, const api::ObjectKey& key,
                                       PatchType type, Json patch, kube::WriteOptions options) {
  return [this, what, key, type, patch = std::move(patch),
          options = std::move(options)](std::function<void(Status)> next) {
    manager_.client().Patch(api::KindOf<api::Workload>(), key, type, patch, options,
                            [this, what, key, next = std::move(next)](Result<kube::JsonPtr> done) {
                              if (!done) return EndFailed(key, done.error(), what, next);
                              workloads_.Ingest(**done);
                              next(OkStatus());
                            });
  };
}

kube::Step JobReconciler::FinalizerStep(const api::ObjectKey& key) {
  return [this, key](std::function<void(Status)> next) {
    const auto workload = workloads_.Get(key);
    if (workload == nullptr || !api::HasFinalizer(workload->meta, api::kResourceInUseFinalizer)) {
      return next(OkStatus());
    }
    Json rest = Json::array();
    for (const std::string& finalizer : workload->meta.finalizers) {
      if (finalizer != api::kResourceInUseFinalizer) rest.push_back(finalizer);
    }
    const Json patch = {{"metadata",
                         {{"finalizers", rest.empty() ? Json() : std::move(rest)},
                          {"resourceVersion", workload->meta.resource_version}}}};
    manager_.client().Patch(
        api::KindOf<api::Workload>(), key, PatchType::kMerge, patch, {},
        [this, key, next = std::move(next)](Result<kube::JsonPtr> done) {
          if (done) {
            if (*done != nullptr && !(*done)->at("metadata").contains("deletionTimestamp")) {
              workloads_.Ingest(**done);
            }
            return next(OkStatus());
          }
          next(Gone(Named(done.error(), "removing the finalizer", key)));
        });
  };
}

kube::Step JobReconciler::CreateStep(const std::shared_ptr<Pass>& pass,
                                     const api::Workload& workload) {
  return [this, pass, workload](std::function<void(Status)> next) {
    const api::ObjectKey key = workload.meta.key();
    manager_.client().Create(
        api::KindOf<api::Workload>(), key.namespace_name, api::Encode(workload), {},
        [this, pass, key, next = std::move(next)](const Result<kube::JsonPtr>& done) {
          // The name exists: an earlier reconcile created it and lost the answer.
          const bool exists = !done && done.error().code == ErrorCode::kAlreadyExists;
          if (!done && !exists) return next(Named(done.error(), "creation", key));
          if (done) OnCreated(*pass->job);
          // Records nothing for a job that is gone; the informer may be faster than the answer.
          if (jobs_.Get(pass->job->meta.key()) != nullptr && workloads_.Get(key) == nullptr) {
            created_[pass->job->meta.uid] = clock_.SteadyNow();
          }
          next(OkStatus());
        });
  };
}

// For a job that was edited, the start of its wait is unknown.
void JobReconciler::OnCreated(const api::Job& job) {
  if (options_.metrics == nullptr || job.meta.generation > 1) return;
  const Duration latency = std::max(clock_.Now() - job.meta.creation_timestamp, Duration::zero());
  options_.metrics->Observe(kCreationLatency, {{"job_kind", std::string(kBatchJob.kind)}},
                            std::chrono::duration<double>(latency).count());
}

kube::Step JobReconciler::DeleteStep(const api::ObjectKey& key) {
  return [this, key](std::function<void(Status)> next) {
    manager_.client().Delete(
        api::KindOf<api::Workload>(), key, {},
        [key, next = std::move(next)](Status done) { next(Gone(std::move(done))); });
  };
}

kube::Step JobReconciler::DeleteJobStep(const std::shared_ptr<Pass>& pass) {
  return [this, pass](std::function<void(Status)> next) {
    const api::ObjectMeta& meta = pass->job->meta;
    manager_.client().Delete(api::KindOf<api::Job>(), meta.key(),
                             {.propagation_policy = "Background", .precondition_uid = meta.uid},
                             [key = meta.key(), next = std::move(next)](Status done) {
                               done = Gone(std::move(done));
                               next(done ? done : Status(Named(done.error(), "deletion", key)));
                             });
  };
}

kube::Step JobReconciler::JobStep(const std::shared_ptr<Pass>& pass, BatchJobWrite write) {
  return [this, pass, write = std::move(write)](std::function<void(Status)> next) {
    kube::WriteOptions options;
    if (write.clear_start_time) options.subresource = "status";
    const api::ObjectKey key = pass->job->meta.key();
    manager_.client().Patch(api::KindOf<api::Job>(), key, PatchType::kMerge,
                            JobPatch(*pass->job, write, pass->resource_version), options,
                            [this, pass, key, next = std::move(next)](Result<kube::JsonPtr> done) {
                              if (!done) return next(Named(done.error(), "writing the job", key));
                              const Result<api::ObjectMeta> meta =
                                  api::Decode<api::ObjectMeta>(**done);
                              if (meta) pass->resource_version = meta->resource_version;
                              jobs_.Ingest(**done);
                              next(OkStatus());
                            });
  };
}

void JobReconciler::Emit(const api::Job& job, const EmitEvent& event) {
  if (event.reason == "UpdatedAdmissionCheck" && jobs_.Get(job.meta.key()) != nullptr) {
    std::string& last = last_check_message_[job.meta.uid];
    if (last == event.message) return;
    last = event.message;
  }
  events_.Record(kube::ReferenceTo(job),
                 event.type == EmitEvent::Type::kWarning ? kube::EventType::kWarning
                                                         : kube::EventType::kNormal,
                 event.reason, "", event.message);
}

}  // namespace berth::integrations

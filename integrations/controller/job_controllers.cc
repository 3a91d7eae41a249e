#include "integrations/controller/job_controllers.h"

#include <algorithm>
#include <utility>

#include "base/log/log.h"
#include "integrations/controller/described_jobs.h"
#include "integrations/controller/pod_parents.h"
#include "integrations/kind_catalogue.h"

namespace berth::integrations {
namespace {

constexpr std::size_t kLooksAtOnce = 32;
constexpr Duration kPatience = std::chrono::seconds(30);  // for the kinds of owners

}  // namespace

api::LabelSelector DefaultManagedNamespaces(const std::string& own_namespace) {
  return {.match_expressions = {{.key = "kubernetes.io/metadata.name",
                                 .op = "NotIn",
                                 .values = {"kube-system", own_namespace}}}};
}

struct JobControllers::Described {
  Described(const JobReconciler::Shared& shared, const KindPtr& kind,
            const JobReconcilerOptions& options)
      : jobs(shared.manager, kind),
        parents(kind->pods && !kind->pods->each_alone
                    ? std::make_unique<PodParents>(shared.manager, jobs, kind)
                    : nullptr),
        reconciler(shared, parents ? static_cast<JobSource&>(*parents) : jobs, options) {}

  DescribedJobs jobs;
  std::unique_ptr<PodParents> parents;  // set for kinds whose pods are held by their gates
  JobReconciler reconciler;
  kube::Controller* controller = nullptr;  // null: not reconciled here
};

JobControllers::JobControllers(kube::Manager& manager, const Clock& clock,
                               kube::EventRecorder& events, JobControllersOptions options)
    : shared_{manager, clock, events, owners_, tables_},
      options_(std::move(options)),
      owners_(manager, options_.job.queue_name_rule),
      tables_(manager),
      batch_jobs_(manager),
      batch_job_reconciler_(shared_, batch_jobs_, options_.job),
      topology_ungater_(manager, clock, options_.job.metrics),
      slice_ungater_(manager, clock, options_.job.metrics),
      user_kinds_(manager, clock,
                  {.manage = [this](const KindPtr& kind) { return Manage(kind); },
                   .leave = [this](const KindPtr& kind) { Leave(kind); },
                   .is_served = [this](const KindPtr& kind) { return IsServed(kind); },
                   .review = options_.on_reviewed_kind}) {
  if (options_.batch_jobs == JobControllersOptions::BatchJobs::kManaged) {
    owners_.Add(batch_jobs_);
    batch_job_reconciler_.Watch(
        manager.AddController(batch_job_reconciler_, ControllerOptionsOf(kBatchJob)));
  }
  for (const KindPtr& kind : options_.kinds) Add(kind);
  owners_.SetKnown([this] { return OwnersAreKnown(); });
  if (options_.user_kinds) user_kinds_.Start();
  if (options_.pods != JobControllersOptions::Pods::kLeftAlone) {
    const bool all = options_.pods == JobControllersOptions::Pods::kManaged;
    pod_jobs_.emplace(manager, all ? PodJobs::Which::kAll : PodJobs::Which::kOfParents,
                      [this](const QueuedPod& pod) {
                        return std::any_of(
                            described_.begin(), described_.end(),
                            [&pod](const auto& each) { return each->jobs.Holds(pod); });
                      });
    pod_reconciler_.emplace(shared_, *pod_jobs_, options_.job);
    pod_reconciler_->Watch(manager.AddController(*pod_reconciler_, ControllerOptionsOf(kPod)));
  }
  if (options_.ungate_slices && options_.job.workload_slices) {
    slice_ungater_.Watch(manager.AddController(slice_ungater_, ControllerOptionsOf(kPod)));
  }
  if (!options_.ungate_topology) return;
  topology_ungater_.Watch(manager.AddController(topology_ungater_, ControllerOptionsOf(kPod)));
}

JobControllers::~JobControllers() = default;

kube::ControllerOptions JobControllers::ControllerOptionsOf(const JobKind& kind) const {
  std::string name(kind.kind);
  if (!kind.group.empty()) name += "." + std::string(kind.group);
  const auto given = options_.concurrency.find(name);
  return {.max_concurrent = given == options_.concurrency.end() ? kLooksAtOnce : given->second};
}

JobControllers::Described& JobControllers::Add(const KindPtr& kind) {
  Described& each =
      *described_.emplace_back(std::make_unique<Described>(shared_, kind, options_.job));
  owners_.Add(each.jobs);
  for (const JobSource::Handler& handler : handlers_) each.jobs.AddHandler(handler);
  if (options_.not_reconciled.contains(std::string(kind->kind.framework))) return each;
  if (kind->pods && kind->pods->each_alone) return each;  // its pods are jobs
  each.controller = &shared_.manager.AddController(each.reconciler, ControllerOptionsOf(kind->kind),
                                                   {&each.jobs.informer()});
  each.reconciler.Watch(*each.controller);
  return each;
}

void JobControllers::AddHandler(const JobSource::Handler& handler) {
  batch_jobs_.AddHandler(handler);
  for (const auto& each : described_) each->jobs.AddHandler(handler);
  handlers_.push_back(handler);
}

JobControllers::Described* JobControllers::Find(const JobKind& kind) {
  for (const auto& each : described_) {
    if (IsSameKind(each->jobs.kind(), kind)) return each.get();
  }
  return nullptr;
}

Status JobControllers::Manage(const KindPtr& kind) {
  const auto is_this = [&kind](const JobKind& other) {
    return other.group == kind->kind.group && other.kind == kind->kind.kind;
  };
  if (is_this(kBatchJob)) return Error{ErrorCode::kInvalid, "the kind is built in"};
  for (const KindPtr& built_in : BuiltInKinds()) {
    if (is_this(built_in->kind)) {
      return Error{ErrorCode::kInvalid, "the kind is built in: name it in integrations.frameworks"};
    }
  }
  if (kind->pods) {
    return Error{ErrorCode::kInvalid,
                 "pods: not allowed in a JobKind: only built-in kinds are held by the scheduling "
                 "gates of their pods"};
  }
  Described* known = Find(kind->kind);
  if (known == nullptr && shared_.manager.HasInformer(kind->resource)) {
    return Error{ErrorCode::kInvalid, "Berth reads " + kind->resource.api_version() + " " +
                                          std::string(kind->resource.plural) +
                                          " itself: it cannot be a declared kind"};
  }
  if (options_.on_user_kind) options_.on_user_kind(kind->kind, true);
  if (known == nullptr) {
    Add(kind);
    return OkStatus();
  }
  if (!known->jobs.Describe(kind) || known->controller == nullptr) return OkStatus();
  for (const api::ObjectKey& job : known->jobs.Keys()) known->controller->Add(job);
  return OkStatus();
}

void JobControllers::Leave(const KindPtr& kind) {
  if (options_.on_user_kind) options_.on_user_kind(kind->kind, false);
  if (Described* known = Find(kind->kind)) known->jobs.Describe(nullptr);
}

// A child of a job whose kind is not read yet would be stopped as a job of its own.
bool JobControllers::OwnersAreKnown() {
  if (owners_known_) return true;
  const SteadyTime now = shared_.clock.SteadyNow();
  if (!asked_for_owners_) asked_for_owners_ = now;
  const auto is_read = [](const auto& each) {
    const kube::InformerBase& informer = each->jobs.informer();
    return informer.has_synced() || informer.is_missing();
  };
  owners_known_ = (!options_.user_kinds || user_kinds_.is_settled()) &&
                  std::all_of(described_.begin(), described_.end(), is_read);
  if (!owners_known_ && now - *asked_for_owners_ > kPatience) {
    LogWarning("job kinds cannot be read; child jobs of these kinds may be queued by themselves",
               {});
    owners_known_ = true;
  }
  return owners_known_;
}

bool JobControllers::IsServed(const KindPtr& kind) {
  const Described* known = Find(kind->kind);
  return known != nullptr && known->jobs.informer().has_synced();
}

}  // namespace berth::integrations

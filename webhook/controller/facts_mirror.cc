#include "webhook/controller/facts_mirror.h"

#include "api/codec/codec.h"
#include "api/holds.h"
#include "api/pod_groups.h"
#include "api/reasons.h"
#include "api/workload.h"
#include "webhook/batch_job_rules.h"

namespace berth::webhook {
namespace {

constexpr char kDefaultName[] = "default";
constexpr char kNamespaceNameLabel[] = "kubernetes.io/metadata.name";

constexpr api::ResourceKind kReplicaSets{"apps", "v1", "ReplicaSet", "replicasets"};

struct Link {
  api::ObjectMeta meta;
};

// The object that made the Workload for its pods; null: another Workload.
const api::OwnerReference* ParentOf(const api::ObjectMeta& workload) {
  if (workload.annotations.count(api::kJobOwnerGvkAnnotation) == 0) return nullptr;
  for (const api::OwnerReference& owner : workload.owner_references) {
    if (!owner.controller && owner.kind != "Pod") return &owner;
  }
  return nullptr;
}

}  // namespace

FactsMirror::FactsMirror(kube::Manager& manager, FactsMirrorOptions options)
    : options_(std::move(options)) {
  const auto queue = [this](const auto& each, bool present) {
    if (each->meta.name == kDefaultName) {
      Set(namespaces_with_default_queue_, each->meta.namespace_name, present);
    }
  };
  manager.InformerFor<api::LocalQueue>().AddHandler(
      {.on_add = [queue](const auto& each) { queue(each, true); },
       .on_delete = [queue](const auto& each) { queue(each, false); }});
  const auto priority_class = [this](const auto& each, bool present) {
    if (each->meta.name != kDefaultName) return;
    const std::lock_guard lock(mutex_);
    default_priority_class_ = present;
  };
  manager.InformerFor<api::WorkloadPriorityClass>().AddHandler(
      {.on_add = [priority_class](const auto& each) { priority_class(each, true); },
       .on_delete = [priority_class](const auto& each) { priority_class(each, false); }});
  const auto workload = [this](const auto& each, bool present) {
    const api::OwnerReference* parent = ParentOf(each->meta);
    if (parent != nullptr) {
      Set(parents_with_workload_, parent->uid + "/" + each->meta.name,
          present && !api::IsOnHold(*each) &&
              !api::IsTrue(each->status.conditions, api::kFinished));
    }
  };
  manager.InformerFor<api::Workload>().AddHandler(
      {.on_add = [workload](const auto& each) { workload(each, true); },
       .on_update = [workload](const auto&, const auto& now) { workload(now, true); },
       .on_delete = [workload](const auto& each) { workload(each, false); }});
  if (options_.replica_sets) WatchReplicaSets(manager);
  const auto labels = [this](const auto& each) {
    const std::lock_guard lock(mutex_);
    labels_by_namespace_[each->meta.name] = each->meta.labels;
  };
  manager.InformerFor<api::Namespace>().AddHandler(
      {.on_add = labels,
       .on_update = [labels](const auto&, const auto& now) { labels(now); },
       .on_delete =
           [this](const auto& each) {
             const std::lock_guard lock(mutex_);
             labels_by_namespace_.erase(each->meta.name);
           }});
}

// The fields that tell whose a ReplicaSet's pods are.
void FactsMirror::WatchReplicaSets(kube::Manager& manager) {
  kube::Informer<Link>& links = manager.OptionalInformerFor<Link>(
      kReplicaSets, [](const api::JsonSource& object) -> Result<Link> {
        BERTH_TRY(api::ObjectMeta meta, api::Decode<api::ObjectMeta>(object));
        Link link{std::move(meta)};
        link.meta.labels.clear();
        link.meta.annotations.clear();
        return link;
      });
  const auto take = [this](const auto& link) { TakeOwner(link->meta, true); };
  links.AddHandler({.on_add = take,
                    .on_update = [take](const auto&, const auto& link) { take(link); },
                    .on_delete = [this](const auto& link) { TakeOwner(link->meta, false); }});
}

void FactsMirror::TakeJob(const api::ObjectMeta& job, bool present) {
  const bool managed = IsManagedJob(job) || options_.manage_without_queue_name;
  Set(managed_job_uids_, job.uid, present && managed);
  TakeOwner(job, present);
  const std::lock_guard lock(mutex_);
  TakeHeldJob(job, present);
}

void FactsMirror::TakeOwner(const api::ObjectMeta& owned, bool present) {
  const api::OwnerReference* owner = api::ControllerOf(owned);
  const std::lock_guard lock(mutex_);
  if (present && owner != nullptr) {
    owner_uids_[owned.uid] = owner->uid;
  } else {
    owner_uids_.erase(owned.uid);
  }
}

// The review of the job has marked it. A job and the cluster that it makes have one name.
void FactsMirror::TakeHeldJob(const api::ObjectMeta& job, bool present) {
  const std::string* framework =
      api::FindValue(job.annotations, api::kPodSuspendingParentAnnotation);
  const std::pair<std::string, std::string> key{job.namespace_name, job.name};
  if (present && framework != nullptr) {
    held_jobs_[key][job.uid] = *framework;
  } else if (const auto known = held_jobs_.find(key); known != held_jobs_.end()) {
    known->second.erase(job.uid);
    if (known->second.empty()) held_jobs_.erase(known);
  }
}

std::string FactsMirror::HeldBy(const api::ObjectMeta& pod) const {
  for (const std::string& label : options_.pod_labels) {
    const std::string* name = api::FindValue(pod.labels, label);
    if (name == nullptr) continue;
    const auto held = held_jobs_.find({pod.namespace_name, *name});
    if (held != held_jobs_.end()) return held->second.begin()->second;
  }
  return "";
}

// An owner's owner counts as well: a pod of a Job of a queued JobSet.
bool FactsMirror::HasManagedAncestor(const api::ObjectMeta& job) const {
  constexpr int kMaxAncestors = 10;
  const api::OwnerReference* owner = api::ControllerOf(job);
  if (owner == nullptr) return false;
  std::string uid = owner->uid;
  for (int depth = 0; depth < kMaxAncestors; ++depth) {
    if (managed_job_uids_.count(uid) != 0) return true;
    const auto above = owner_uids_.find(uid);
    if (above == owner_uids_.end()) return false;
    uid = above->second;
  }
  return false;
}

void FactsMirror::Set(std::set<std::string>& set, const std::string& value, bool present) {
  const std::lock_guard lock(mutex_);
  if (present) {
    set.insert(value);
  } else {
    set.erase(value);
  }
}

JobFacts FactsMirror::Of(const ReviewedKind& kind, const api::ObjectMeta& job) const {
  const std::lock_guard lock(mutex_);
  JobFacts facts;
  const std::string& space = job.namespace_name;
  facts.default_local_queue = namespaces_with_default_queue_.count(space) != 0;
  // Only managed kinds have a review, but for batch/v1 Job.
  facts.kind_managed = options_.batch_jobs_managed || kind.framework != BatchJobKind().framework;
  facts.default_priority_class = options_.default_priority_class && default_priority_class_;
  facts.manage_without_queue_name = options_.manage_without_queue_name;
  api::StringMap labels{{kNamespaceNameLabel, space}};
  if (const auto found = labels_by_namespace_.find(space); found != labels_by_namespace_.end()) {
    labels.insert(found->second.begin(), found->second.end());
  }
  facts.namespace_managed = options_.namespace_selector.Matches(labels);
  facts.ancestor_managed = HasManagedAncestor(job);
  const auto held = parents_with_workload_.lower_bound(job.uid + "/");
  facts.parent_holds_workload =
      !job.uid.empty() && held != parents_with_workload_.end() && held->starts_with(job.uid + "/");
  facts.held_by = HeldBy(job);
  return facts;
}

}  // namespace berth::webhook

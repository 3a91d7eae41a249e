#include "integrations/controller/job_owners.h"

#include <algorithm>

#include "api/api_version.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "integrations/workload_build.h"

namespace berth::integrations {
namespace {

constexpr char kOwnerIndex[] = "owner";
constexpr int kMaxAncestors = 10;

std::string IndexValue(std::string_view group, std::string_view kind, const api::ObjectKey& job) {
  std::string value(group);
  value += '/';
  value += kind;
  value += '/';
  value += job.ToString();
  return value;
}

bool IsElastic(const api::ObjectMeta& job) {
  const std::string* elastic = api::FindValue(job.annotations, api::kElasticJobAnnotation);
  return elastic != nullptr && *elastic == "true";
}

bool MayRun(const api::Workload& slice) {
  return api::IsTrue(slice.status.conditions, api::kAdmitted) &&
         !api::IsTrue(slice.status.conditions, api::kEvicted);
}

}  // namespace

JobOwners::JobOwners(kube::Manager& manager, QueueNameRule queue_name_rule)
    : workloads_(manager.InformerFor<api::Workload>()), queue_name_rule_(queue_name_rule) {
  workloads_.AddIndex(kOwnerIndex, [](const api::Workload& workload) {
    const api::OwnerReference* owner = OwningJobOf(workload.meta);
    const std::optional<api::OwnerReference> lost = LostParentOf(workload.meta);
    if (lost) owner = &*lost;
    if (owner == nullptr) return std::vector<std::string>{};
    return std::vector<std::string>{IndexValue(api::GroupOf(owner->api_version), owner->kind,
                                               {workload.meta.namespace_name, owner->name})};
  });
}

JobSource* JobOwners::SourceOf(const api::OwnerReference& owner) const {
  const auto found = std::find_if(sources_.begin(), sources_.end(), [&](const JobSource* source) {
    return source->is_managed() && IsOf(source->kind(), owner);
  });
  return found == sources_.end() ? nullptr : *found;
}

std::vector<api::Workload> JobOwners::WorkloadsOf(const JobKind& kind,
                                                  const api::ObjectKey& job) const {
  std::vector<api::Workload> result;
  for (const auto& workload :
       workloads_.ByIndex(kOwnerIndex, IndexValue(kind.group, kind.kind, job))) {
    result.push_back(*workload);
  }
  return result;
}

bool JobOwners::HasWorkload(const JobKind& kind, const api::ObjectKey& job) const {
  return workloads_.HasIn(kOwnerIndex, IndexValue(kind.group, kind.kind, job));
}

JobOwners::Ancestry JobOwners::AncestorOf(const api::ObjectMeta& job) const {
  const JobSource* managed_by = nullptr;
  JobSource::MetaPtr managed;
  JobSource::MetaPtr above;  // keeps `owner` alive
  const api::OwnerReference* owner = api::ControllerOf(job);
  int depth = 0;
  for (; depth < kMaxAncestors && owner != nullptr; ++depth) {
    const JobSource* source = SourceOf(*owner);
    if (source == nullptr) break;
    const JobSource::MetaPtr parent = source->Meta({job.namespace_name, owner->name});
    if (parent == nullptr || parent->uid != owner->uid) break;
    if (parent->uid == job.uid) break;  // they own each other
    if (queue_name_rule_ == QueueNameRule::kManageWithoutName ||
        parent->labels.count(api::kQueueLabel) > 0) {
      managed = parent;
      managed_by = source;
    }
    above = parent;
    owner = api::ControllerOf(*above);
  }
  const bool too_deep = depth == kMaxAncestors && owner != nullptr && SourceOf(*owner) != nullptr;
  if (managed == nullptr) return {std::nullopt, too_deep};
  // The newest unfinished Workload decides; one of an earlier job of this name does not.
  const std::vector<api::Workload> workloads = WorkloadsOf(managed_by->kind(), managed->key());
  const bool elastic = IsElastic(*managed) || IsElastic(job);
  const api::Workload* newest = nullptr;
  for (const api::Workload& each : workloads) {
    const api::OwnerReference* controller = OwningJobOf(each.meta);
    if (controller == nullptr || controller->uid != managed->uid ||
        api::IsTrue(each.status.conditions, api::kFinished)) {
      continue;
    }
    // An elastic job's next slice waits while the admitted one lets the job run.
    if (elastic && MayRun(each)) return {ManagedAncestor{true}, too_deep};
    if (newest == nullptr || each.meta.creation_timestamp > newest->meta.creation_timestamp) {
      newest = &each;
    }
  }
  const bool admitted =
      !elastic && newest != nullptr && api::IsTrue(newest->status.conditions, api::kAdmitted);
  return {ManagedAncestor{admitted}, too_deep};
}

}  // namespace berth::integrations

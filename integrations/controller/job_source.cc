#include "integrations/controller/job_source.h"

#include "api/api_version.h"

namespace berth::integrations {

bool IsOf(const JobKind& kind, const api::OwnerReference& owner) {
  return owner.kind == kind.kind && api::GroupOf(owner.api_version) == kind.group;
}

std::optional<JobSource::Owner> JobSource::OwnerOf(const api::Workload& workload) const {
  const api::OwnerReference* owner = OwningJobOf(workload.meta);
  const std::optional<api::OwnerReference> lost = LostParentOf(workload.meta);
  if (lost) owner = &*lost;
  if (owner == nullptr || !IsOf(kind(), *owner)) return std::nullopt;
  return Owner{{workload.meta.namespace_name, owner->name}, owner->uid};
}

}  // namespace berth::integrations

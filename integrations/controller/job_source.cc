#include "integrations/controller/job_source.h"

#include <string_view>

namespace berth::integrations {
namespace {

std::string_view GroupOfVersion(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

}  // namespace

bool IsOf(const JobKind& kind, const api::OwnerReference& owner) {
  return owner.kind == kind.kind && GroupOfVersion(owner.api_version) == kind.group;
}

std::optional<JobSource::Owner> JobSource::OwnerOf(const api::Workload& workload) const {
  const api::OwnerReference* owner = OwningJobOf(workload.meta);
  if (owner == nullptr || !IsOf(kind(), *owner)) return std::nullopt;
  return Owner{{workload.meta.namespace_name, owner->name}, owner->uid};
}

}  // namespace berth::integrations

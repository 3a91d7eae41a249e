#include "admission/preemption/owner_kinds.h"

#include <algorithm>

#include "api/api_version.h"
#include "api/pod_groups.h"

namespace berth::admission {

bool OwnerKinds::Set(const OwnerKind& kind, bool managed) {
  if (!kinds_) return false;
  const auto known = std::find(kinds_->begin(), kinds_->end(), kind);
  if ((known != kinds_->end()) == managed) return false;
  if (managed) {
    kinds_->push_back(kind);
  } else {
    kinds_->erase(known);
  }
  return true;
}

bool OwnerKinds::IsForeign(const api::Workload& object) const {
  if (!kinds_) return false;
  const api::OwnerReference* owner = api::ControllerOf(object.meta);
  // The pods of a group own its Workload together, and none controls it.
  static const api::OwnerReference kPods{.api_version = "v1", .kind = "Pod"};
  if (owner == nullptr && object.meta.annotations.count(api::kIsGroupWorkloadAnnotation) != 0) {
    owner = &kPods;
  }
  if (owner == nullptr) return false;
  return std::none_of(kinds_->begin(), kinds_->end(), [owner](const OwnerKind& managed) {
    return managed.kind == owner->kind && managed.group == api::GroupOf(owner->api_version);
  });
}

}  // namespace berth::admission

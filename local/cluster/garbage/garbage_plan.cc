#include "local/cluster/garbage/garbage_plan.h"

#include <algorithm>

#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {

GarbagePlan PlanGarbage(const Json& object, const std::vector<OwnerView>& owners,
                        bool has_dependents) {
  GarbagePlan plan;
  if (owners.empty() || IsDeleting(object)) return plan;
  const auto count = [&](OwnerState state) {
    return std::count_if(owners.begin(), owners.end(),
                         [&](const OwnerView& owner) { return owner.state == state; });
  };
  if (count(OwnerState::kThere) > 0) {
    for (const OwnerView& owner : owners) {
      if (owner.state != OwnerState::kThere) plan.drop.push_back(owner.uid);
    }
    if (!plan.drop.empty()) plan.action = GarbagePlan::Action::kDropOwners;
    return plan;
  }
  plan.action = GarbagePlan::Action::kDelete;
  plan.propagation_policy = "Background";
  if (count(OwnerState::kWaiting) > 0 && has_dependents) plan.propagation_policy = "Foreground";
  if (HasFinalizer(object, "foregroundDeletion")) plan.propagation_policy = "Foreground";
  if (HasFinalizer(object, "orphan")) plan.propagation_policy = "Orphan";
  return plan;
}

bool UnblockOwners(Json& object) {
  bool changed = false;
  if (ArrayAt(object, {"metadata", "ownerReferences"}).empty()) return false;
  for (Json& owner : object["metadata"]["ownerReferences"]) {
    if (!BoolAt(owner, {"blockOwnerDeletion"})) continue;
    owner["blockOwnerDeletion"] = false;
    changed = true;
  }
  return changed;
}

bool DropOwners(Json& object, const std::vector<std::string>& uids) {
  const Json& owners = ArrayAt(object, {"metadata", "ownerReferences"});
  Json kept = Json::array();
  for (const Json& owner : owners) {
    const std::string uid = StringAt(owner, {"uid"});
    if (std::find(uids.begin(), uids.end(), uid) == uids.end()) kept.push_back(owner);
  }
  if (kept.size() == owners.size()) return false;
  if (kept.empty()) {
    object["metadata"].erase("ownerReferences");
  } else {
    object["metadata"]["ownerReferences"] = std::move(kept);
  }
  return true;
}

}  // namespace berth::local::cluster

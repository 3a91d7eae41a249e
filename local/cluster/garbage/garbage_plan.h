// local/cluster/garbage/garbage_plan.h — plans the garbage collection of one object.
//
// Pure. Source: Kubernetes "Garbage Collection", "Owners and Dependents".
#pragma once

#include <string>
#include <vector>

#include "local/apiserver/api.h"

namespace berth::local::cluster {

enum class OwnerState {
  kThere,
  kGone,
  kWaiting,  // foreground deletion, waits for its dependents
};

struct OwnerView {
  std::string uid;
  OwnerState state = OwnerState::kThere;
};

struct GarbagePlan {
  enum class Action { kKeep, kDropOwners, kDelete };
  Action action = Action::kKeep;
  std::vector<std::string> drop;   // kDropOwners: uids of references to absent owners
  std::string propagation_policy;  // kDelete
  friend bool operator==(const GarbagePlan&, const GarbagePlan&) = default;
};

// Deletes `object` if no owner is left; the object's own finalizers choose the propagation.
GarbagePlan PlanGarbage(const Json& object, const std::vector<OwnerView>& owners,
                        bool has_dependents);

// Changes the owner references so that no owner waits for the object; returns false if none did.
bool UnblockOwners(Json& object);

// Removes the references to owners in `uids`; returns false if there were none.
bool DropOwners(Json& object, const std::vector<std::string>& uids);

}  // namespace berth::local::cluster

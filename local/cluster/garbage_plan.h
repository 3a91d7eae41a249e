// local/cluster/garbage_plan.h — what becomes of an object whose owners come and go.
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
  kWaiting,  // being deleted in the foreground: waits for its dependents
};

struct OwnerView {
  std::string uid;
  OwnerState state = OwnerState::kThere;
};

struct GarbagePlan {
  enum class Action { kKeep, kDropOwners, kDelete };
  Action action = Action::kKeep;
  std::vector<std::string> drop;   // kDropOwners: references that lead nowhere, by uid
  std::string propagation_policy;  // kDelete
  friend bool operator==(const GarbagePlan&, const GarbagePlan&) = default;
};

// `object` is deleted when none of its owners is left to hold it; what it holds itself decides how.
GarbagePlan PlanGarbage(const Json& object, const std::vector<OwnerView>& owners,
                        bool has_dependents);

// `object` without the references to owners in `uids`; false if there were none.
bool DropOwners(Json& object, const std::vector<std::string>& uids);

}  // namespace berth::local::cluster

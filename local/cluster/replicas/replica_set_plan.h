// local/cluster/replicas/replica_set_plan.h — plans one reconcile of a ReplicaSet.
//
//     ReplicaSet + pods + now  --PlanReplicaSet-->  pods to adopt, release, create, delete; status
//
// Pure. Source: Kubernetes "ReplicaSet", replica set controller, restated.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/api.h"

namespace berth::local::cluster {

struct ReplicaSetView {
  Object set;
  std::vector<Object> pods;    // pods of the set, and pods of its namespace without a controller
  std::string create_failure;  // message of the last creation, if it failed
  std::optional<WallTime> create_not_before;
};

// Positions are those in ReplicaSetView::pods. Perform the members in this order.
struct ReplicaSetPlan {
  std::vector<std::size_t> adopt;
  std::vector<std::size_t> release;
  std::size_t create = 0;  // the number of pods to create with MakeReplicaPod
  std::vector<std::size_t> remove;
  std::optional<Json> status;  // nullopt: unchanged
  std::optional<WallTime> look_again;
};

ReplicaSetPlan PlanReplicaSet(const ReplicaSetView& view, WallTime now);

// A pod of the template of `owner` (ReplicaSet).
Json MakeReplicaPod(const Json& owner);

}  // namespace berth::local::cluster

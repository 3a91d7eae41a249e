// local/cluster/policies/disruption_plan.h — the status of a PodDisruptionBudget: how many of its
// pods may be evicted now.
//
// Pure. Source: Kubernetes "Specifying a Disruption Budget", disruption controller, restated.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/api.h"

namespace berth::local::cluster {

struct DisruptionView {
  Object budget;
  std::vector<Object> pods;  // the pods that the budget selects
  // Wanted sizes by the uid of the pods' controller; for a ReplicaSet of a Deployment, the size of
  // the Deployment. Pods of other controllers count one by one.
  std::map<std::string, std::int64_t> size_by_controller;
};

struct DisruptionPlan {
  std::optional<Json> status;  // nullopt: unchanged
  std::optional<WallTime> look_again;
};

DisruptionPlan PlanDisruption(const DisruptionView& view, WallTime now);

}  // namespace berth::local::cluster

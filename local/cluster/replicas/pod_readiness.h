// local/cluster/replicas/pod_readiness.h — whether a pod is ready, and since when.
//
// Pure.
#pragma once

#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {

inline bool IsPodReady(const Json& pod) { return ConditionIs(pod, "Ready", "True"); }

inline WallTime PodReadySince(const Json& pod) {
  const Json* ready = FindCondition(pod, "Ready");
  if (ready == nullptr) return WallTime();
  return TimeAt(*ready, {"lastTransitionTime"}).value_or(WallTime());
}

}  // namespace berth::local::cluster

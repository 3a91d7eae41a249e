// api/pod_owner.h — Workloads that one pod controls: such a Workload ends with its pod, which can
// neither move to another node nor be stopped and started again.
#pragma once

#include "api/object_meta.h"

namespace berth::api {

// `workload`: its metadata. A group of pods has owners that do not control it.
inline bool IsOfOnePod(const ObjectMeta& workload) {
  const OwnerReference* owner = ControllerOf(workload);
  return owner != nullptr && owner->kind == "Pod" && owner->api_version == "v1";
}

}  // namespace berth::api

// api/pod_phase.h — whether a pod has ended.
//
// Threads: pure function. Errors: none. Source: Kubernetes, PodStatus.phase.
#pragma once

#include "api/pod.h"

namespace berth::api {

inline bool HasEnded(const Pod& pod) { return pod.phase == "Succeeded" || pod.phase == "Failed"; }

}  // namespace berth::api

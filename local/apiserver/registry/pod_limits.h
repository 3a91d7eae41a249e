// local/apiserver/registry/pod_limits.h — the effects of LimitRanges and RuntimeClasses on new
// pods.
//
// Pure. Source: Kubernetes "Limit Ranges", "Runtime Class", "Pod Overhead", restated. Pod-level
// resources are not read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "local/apiserver/api.h"

namespace berth::local {

// Fills missing requests and limits of the containers.
void ApplyLimitDefaults(const std::vector<Object>& ranges, Json& pod);

// The values of the pod that are outside of the ranges, in Kubernetes' words.
std::vector<std::string> LimitViolations(const std::vector<Object>& ranges, const Json& pod);

// The values of a PersistentVolumeClaim that are outside of the ranges.
std::vector<std::string> ClaimViolations(const std::vector<Object>& ranges, const Json& claim);

// Merges overhead, node selector and tolerations of the class into the pod. Returns the reason if
// the pod contradicts the class.
std::optional<std::string> ApplyRuntimeClass(const Json& runtime_class, Json& pod);

}  // namespace berth::local

// local/apiserver/registry/strategies/pod_spec.h — what a pod's specification may say; shared by
// pods and by the templates of Jobs and PodTemplates.
//
// A subset of Kubernetes' rules: what a person gets wrong. Types and unknown fields have been
// checked before.
#pragma once

#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {

std::vector<Cause> ValidatePodSpec(const Json& spec, const std::string& path);

// "Guaranteed", "Burstable" or "BestEffort".
std::string QosClass(const Json& spec);

}  // namespace berth::local

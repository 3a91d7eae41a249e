// local/apiserver/registry/strategies/pod_spec.h — validates pod specifications, for pods and for
// the templates of Jobs and PodTemplates.
//
// A subset of Kubernetes' rules: the frequent mistakes of people. Types and unknown fields are
// checked earlier.
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

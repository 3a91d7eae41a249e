// local/apiserver/registry/strategies/admission_rules.h — validates rules of webhooks and policies:
// operations, groups, versions, resources, scope; and their matchConditions.
//
// Threads: pure functions.
// Source: k8s.io/kubernetes pkg/apis/admissionregistration/validation, restated.
#pragma once

#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/schema/field_error.h"
#include "local/apiserver/webhooks/match_conditions.h"

namespace berth::local {

// `path`: the path of the rule.
void CheckRule(const Json& rule, const std::string& path, std::vector<Cause>& causes);

// `conditions`: an array; `path`: the path of the array.
void CheckMatchConditions(const Json& conditions, const std::string& path, ConditionParams params,
                          std::vector<Cause>& causes);

}  // namespace berth::local

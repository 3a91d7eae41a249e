// local/apiserver/schema/crd_rule_cost.h — refuses definitions whose rules in CEL may cost too
// much.
//
//     schema with maxItems, maxProperties, maxLength ──▶ the most that each rule can cost, times
//     the number of values that it can be evaluated for ──▶ causes, in Kubernetes' words
//
// A list, a map or a text without a limit counts as large as a request of 3 MB allows.
//
// Pure; threads: any. Source: k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation,
// restated.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {

// The most that one rule, and all rules of a definition, may cost, in the unit of
// cel/cost_estimate.h.
inline constexpr std::uint64_t kMostRuleCost = 10'000'000;
inline constexpr std::uint64_t kMostDefinitionCost = 100'000'000;

// Precondition: CrdSchema::Parse accepts `schema`. `path`: see CrdSchema::Parse.
std::vector<Cause> RuleCostErrors(const Json& schema, std::string_view path);

}  // namespace berth::local

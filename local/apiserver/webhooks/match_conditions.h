// local/apiserver/webhooks/match_conditions.h — the conditions in CEL of a webhook or a policy.
//
//     matchConditions + variables ──EvaluateConditions──▶ call it, pass over it, or refuse
//
// A webhook is passed over if one of its conditions is false, whatever the others are. If one fails
// and none is false, failurePolicy decides: Ignore passes over the webhook, Fail refuses.
//
// Limits: kMaxConditionCost for all conditions of a webhook. Compiled expressions are kept, 1,024
// at most.
//
// Threads: any. Errors: in Kubernetes' words. Source: KEP-3716 (matchConditions).
#pragma once

#include <cstdint>
#include <string>

#include "local/apiserver/api.h"
#include "local/apiserver/policies/admission_variables.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {

inline constexpr std::uint64_t kMaxConditionCost = 2'500'000;  // in steps of cel::Limits

// Whether conditions may read `params`.
enum class ConditionParams : std::uint8_t { kNone, kGiven };

struct ConditionVerdict {
  enum class Kind : std::uint8_t { kCall, kPassOver, kRefuse };
  Kind kind = Kind::kCall;
  std::string error;  // kRefuse: why
};

// `owner`: a webhook or the spec of a policy, with `matchConditions` and `failurePolicy`.
ConditionVerdict EvaluateConditions(const Json& owner, const AdmissionVariables& variables,
                                    ConditionParams params = ConditionParams::kNone);

// The reason why the expression of a condition is not accepted; "" if it is.
std::string ConditionProblem(const std::string& expression,
                             ConditionParams params = ConditionParams::kNone);

}  // namespace berth::local

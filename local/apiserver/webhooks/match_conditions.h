// local/apiserver/webhooks/match_conditions.h — the conditions in CEL of a webhook.
//
//     webhook + object, oldObject, request ──EvaluateConditions──▶ call it, pass over it, or refuse
//
// A webhook is passed over where one of its conditions is false, whatever the others are. Where one
// fails and none is false, failurePolicy decides: Ignore passes over the webhook, Fail refuses.
//
// Limits: kMaxConditionCost for all conditions of a webhook. Compiled expressions are kept, 1,024
// at most.
//
// Threads: any. Errors: in Kubernetes' words. Source: KEP-3716 (matchConditions).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {

inline constexpr std::uint64_t kMaxConditionCost = 2'500'000;  // in steps of cel::Limits

struct ConditionInput {
  const Json* object = nullptr;      // in the version of the webhook; null on delete
  const Json* old_object = nullptr;  // likewise; null on create
  // The `request` of the AdmissionReview, valid during the call; called where a condition reads it.
  std::function<const Json*()> request;
};

struct ConditionVerdict {
  enum class Kind : std::uint8_t { kCall, kPassOver, kRefuse };
  Kind kind = Kind::kCall;
  std::string error;  // kRefuse: why
};

ConditionVerdict EvaluateConditions(const Json& webhook, const ConditionInput& input);

// Why the expression of a condition cannot be taken; "" if it can.
std::string ConditionProblem(const std::string& expression);

}  // namespace berth::local

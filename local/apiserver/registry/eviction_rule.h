// local/apiserver/registry/eviction_rule.h — whether a pod may be evicted, by the
// PodDisruptionBudgets of its namespace.
//
// Pure. Source: Kubernetes "API-initiated Eviction", the eviction subresource, restated.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/api.h"

namespace berth::local {

struct EvictionVerdict {
  std::optional<ApiError> refusal;
  // The budget with the eviction counted in its status, to be written before the pod is deleted;
  // nullopt: no budget is spent.
  std::optional<Json> budget;
};

// `budgets`: all PodDisruptionBudgets of the pod's namespace.
EvictionVerdict JudgeEviction(const Json& pod, const std::vector<Object>& budgets, WallTime now);

}  // namespace berth::local

#include "local/apiserver/registry/eviction_rule.h"

#include <fmt/format.h>

#include "base/rfc3339.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/schema/selector.h"

namespace berth::local {
namespace {

constexpr std::size_t kMostDisruptedPods = 2000;

// Pods that do not run, or no longer, disrupt nothing.
bool NeedsNoBudget(const Json& pod) {
  const std::string phase = TextAt(pod, {"status", "phase"});
  return IsBeingDeleted(pod) || phase == "Succeeded" || phase == "Failed" || phase == "Pending";
}

ApiError TooMany(std::string message, std::string cause) {
  return {
      429,
      "TooManyRequests",
      std::move(message),
      {{"causes", Json::array({{{"reason", "DisruptionBudget"}, {"message", std::move(cause)}}})}}};
}

// An unready pod may go where enough others are healthy, or always if the budget says so.
bool MayGoUnready(const Json& pod, const Json& budget) {
  const Json* ready = FindCondition(pod, "Ready");
  if (ready != nullptr && TextAt(*ready, {"status"}) == "True") return false;
  if (TextAt(budget, {"spec", "unhealthyPodEvictionPolicy"}) == "AlwaysAllow") return true;
  const std::int64_t desired = IntAt(budget, {"status", "desiredHealthy"}, 0);
  return desired > 0 && IntAt(budget, {"status", "currentHealthy"}, 0) >= desired;
}

std::optional<ApiError> Refusal(const Json& budget) {
  const std::string name = NameOf(budget);
  const std::string why = "Cannot evict pod as it would violate the pod's disruption budget.";
  if (IntAt(budget, {"status", "observedGeneration"}, 0) <
      IntAt(budget, {"metadata", "generation"}, 0)) {
    ApiError error =
        TooMany(why, "The disruption budget " + name + " is still being processed by the server.");
    error.details["retryAfterSeconds"] = 10;
    return error;
  }
  const std::int64_t allowed = IntAt(budget, {"status", "disruptionsAllowed"}, 0);
  const Json* disrupted = At(budget, {"status", "disruptedPods"});
  if (disrupted != nullptr && disrupted->size() > kMostDisruptedPods) {
    return ForbiddenStatus({"policy", "v1", "poddisruptionbudgets"}, name,
                           "DisruptedPods map too big - too many evictions not confirmed by PDB "
                           "controller");
  }
  if (allowed > 0) return std::nullopt;
  return TooMany(why, fmt::format("The disruption budget {} needs {} healthy pods and has {} "
                                  "currently",
                                  name, IntAt(budget, {"status", "desiredHealthy"}, 0),
                                  IntAt(budget, {"status", "currentHealthy"}, 0)));
}

}  // namespace

EvictionVerdict JudgeEviction(const Json& pod, const std::vector<Object>& budgets, WallTime now) {
  EvictionVerdict verdict;
  if (NeedsNoBudget(pod)) return verdict;
  std::vector<const Json*> own;
  for (const Object& budget : budgets) {
    if (budget != nullptr && SelectorMatches(*budget, pod)) own.push_back(budget.get());
  }
  if (own.empty()) return verdict;
  if (own.size() > 1) {
    verdict.refusal = ApiError{500, "InternalError",
                               "This pod has more than one PodDisruptionBudget, which the eviction "
                               "subresource does not support.",
                               Json()};
    return verdict;
  }
  if (MayGoUnready(pod, *own[0])) return verdict;
  verdict.refusal = Refusal(*own[0]);
  if (verdict.refusal) return verdict;
  Json next = *own[0];
  Json& status = next["status"];
  status["disruptionsAllowed"] = IntAt(status, {"disruptionsAllowed"}, 0) - 1;
  status["disruptedPods"][NameOf(pod)] = FormatTime(now);
  verdict.budget = std::move(next);
  return verdict;
}

}  // namespace berth::local

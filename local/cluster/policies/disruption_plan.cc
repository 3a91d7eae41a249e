#include "local/cluster/policies/disruption_plan.h"

#include <algorithm>
#include <set>

#include "base/rfc3339.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/replicas/pod_readiness.h"
#include "local/cluster/replicas/rollout_numbers.h"

namespace berth::local::cluster {
namespace {

// An eviction whose pod does not begin to end in this time did not happen.
constexpr Duration kEvictionPatience = std::chrono::minutes(2);

std::int64_t SizeOf(const DisruptionView& view) {
  std::set<std::string> controllers;
  std::int64_t size = 0;
  for (const Object& pod : view.pods) {
    const Json* owner = ControllerRef(*pod);
    const std::string uid = owner == nullptr ? "" : StringAt(*owner, {"uid"});
    const auto known = view.size_by_controller.find(uid);
    if (known == view.size_by_controller.end()) {
      ++size;
    } else if (controllers.insert(uid).second) {
      size += known->second;
    }
  }
  return size;
}

struct Need {
  std::int64_t expected = 0;
  std::int64_t healthy = 0;
};

Need NeedOf(const DisruptionView& view) {
  const Json* most = Find(*view.budget, {"spec", "maxUnavailable"});
  const Json* least = Find(*view.budget, {"spec", "minAvailable"});
  if (most != nullptr) {
    const std::int64_t size = SizeOf(view);
    return {size, std::max<std::int64_t>(size - ScaledAmount(*most, size, Rounding::kUp), 0)};
  }
  if (least == nullptr) return {static_cast<std::int64_t>(view.pods.size()), 0};
  const auto pods = static_cast<std::int64_t>(view.pods.size());
  const std::int64_t size = least->is_number_integer() ? pods : SizeOf(view);
  return {size, ScaledAmount(*least, size, Rounding::kUp)};
}

}  // namespace

DisruptionPlan PlanDisruption(const DisruptionView& view, WallTime now) {
  DisruptionPlan plan;
  const Json& budget = *view.budget;
  const Json old = budget.value("status", Json::object());
  Json disrupted = Json::object();
  std::int64_t healthy = 0;
  for (const Object& pod : view.pods) {
    if (IsDeleting(*pod)) continue;
    const auto evicted = TimeAt(old, {"disruptedPods", NameOf(*pod)});
    if (evicted && now < *evicted + kEvictionPatience) {
      disrupted[NameOf(*pod)] = FormatTime(*evicted);
      const WallTime again = *evicted + kEvictionPatience;
      if (!plan.look_again || again < *plan.look_again) plan.look_again = again;
      continue;
    }
    if (!HasEnded(*pod) && IsPodReady(*pod)) ++healthy;
  }
  const Need need = NeedOf(view);
  const std::int64_t allowed =
      need.expected <= 0 ? 0 : std::max<std::int64_t>(healthy - need.healthy, 0);
  Json status = old;
  status["currentHealthy"] = healthy;
  status["desiredHealthy"] = need.healthy;
  status["expectedPods"] = need.expected;
  status["disruptionsAllowed"] = allowed;
  status["observedGeneration"] = IntAt(budget, {"metadata", "generation"});
  if (disrupted.empty()) {
    status.erase("disruptedPods");
  } else {
    status["disruptedPods"] = std::move(disrupted);
  }
  SetCondition(status,
               {"DisruptionAllowed", allowed > 0 ? "True" : "False",
                allowed > 0 ? "SufficientPods" : "InsufficientPods", ""},
               now);
  if (status != old) plan.status = std::move(status);
  return plan;
}

}  // namespace berth::local::cluster

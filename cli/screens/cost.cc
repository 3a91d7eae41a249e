#include "cli/screens/cost.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "api/reasons.h"
#include "cli/screens/find_named.h"
#include "provisioning/check_settings.h"
#include "provisioning/gang.h"
#include "provisioning/money.h"
#include "provisioning/request_state.h"
#include "provisioning/vetoes.h"

namespace berth::cli {
namespace {

constexpr std::int64_t kSecondsPerHour = 3600;
constexpr std::int64_t kNanoPerCent = 10'000'000;

struct NodeCost {
  std::int64_t nodes = 0;
  std::int64_t nano_dollars = 0;  // of one in an hour
};

// The config and the policy of the check whose step made the request; null where there is none.
struct Asked {
  const api::ProvisioningRequestConfig* config = nullptr;
  const api::ProvisioningStep* step = nullptr;
};

Asked AskedBy(const ClusterView& view, const api::Workload& workload, const std::string& step) {
  for (const api::AdmissionCheckState& state : workload.status.admission_checks) {
    const api::AdmissionCheck* check = FindNamed(view.admission_checks, state.name);
    if (check == nullptr) continue;
    const Result<std::string> name = provisioning::ConfigNameOf(*check);
    Asked asked{.config = name ? FindNamed(view.provisioning_configs, *name) : nullptr};
    if (asked.config == nullptr) continue;
    const api::ProvisioningPolicy* policy =
        FindNamed(view.provisioning_policies, provisioning::PolicyNameOf(*check, asked.config));
    if (policy == nullptr) continue;
    for (const api::ProvisioningStep& each : policy->steps) {
      if (each.name == step) asked.step = &each;
    }
    if (asked.step != nullptr) return asked;
  }
  return {};
}

// One node for each pod, in the dearest of the pod set's flavors: one of them has the machine.
std::vector<NodeCost> CostsOfFlavors(const ClusterView& view, const api::Workload& workload) {
  provisioning::FlavorsByName flavors;
  for (const api::ResourceFlavor& flavor : view.flavors) flavors[flavor.meta.name] = flavor;
  std::vector<NodeCost> costs;
  for (const auto& assigned : workload.status.admission->pod_set_assignments) {
    std::optional<std::int64_t> dearest;
    for (const auto& [resource, flavor] : assigned.flavors) {
      const auto price = provisioning::PriceOf({.flavor = flavor}, &flavors);
      if (price) dearest = std::max(dearest.value_or(0), price->NanoValue());
    }
    if (dearest) costs.push_back({assigned.count, *dearest});
  }
  return costs;
}

std::vector<NodeCost> CostsOf(const ClusterView& view, const api::Workload& workload,
                              const api::ProvisioningRequest* request) {
  const std::string* step = request == nullptr ? nullptr
                                               : api::FindValue(request->meta.annotations,
                                                                api::kProvisioningStepAnnotation);
  const Asked asked = step == nullptr ? Asked{} : AskedBy(view, workload, *step);
  if (asked.step == nullptr || !asked.step->price_per_hour) return CostsOfFlavors(view, workload);
  const provisioning::Gang gang = provisioning::GangOf(workload, *asked.config);
  return {{provisioning::NodesOf(*asked.step, gang), asked.step->price_per_hour->NanoValue()}};
}

WallTime BeginOf(const api::Workload& workload, const api::ProvisioningRequest* request) {
  const api::Condition* came =
      request == nullptr ? nullptr : api::FindCondition(request->conditions, "Provisioned");
  if (came != nullptr && came->status == api::ConditionStatus::kTrue) {
    return came->last_transition_time;
  }
  return api::FindCondition(workload.status.conditions, api::kAdmitted)->last_transition_time;
}

}  // namespace

std::optional<RunCost> CostOfRun(const ClusterView& view, const api::Workload& workload) {
  if (!IsRunning(workload) || !workload.status.admission) return std::nullopt;
  const api::ProvisioningRequest* request = FindProvisioningRequest(view, workload);
  const std::vector<NodeCost> costs = CostsOf(view, workload, request);
  if (costs.empty()) return std::nullopt;
  RunCost cost;
  for (const NodeCost& each : costs) {
    cost.rate = api::AddAmounts(cost.rate, api::MultiplyAmounts(each.nodes, each.nano_dollars));
  }
  const auto seconds = std::max<std::int64_t>(
      std::chrono::floor<std::chrono::seconds>(view.now - BeginOf(workload, request)).count(), 0);
  // Whole hours and the rest apart, so that months of dear nodes stay in range.
  cost.so_far =
      api::AddAmounts(api::MultiplyAmounts(cost.rate, seconds / kSecondsPerHour),
                      api::MultiplyAmounts(cost.rate, seconds % kSecondsPerHour) / kSecondsPerHour);
  return cost;
}

std::map<std::string, QueueCost> CostByQueue(const ClusterView& view) {
  std::map<std::string, QueueCost> queues;
  for (const api::Workload& workload : view.workloads) {
    if (!IsRunning(workload)) continue;
    QueueCost& queue = queues[ClusterQueueOf(view, workload)];
    ++queue.running;
    const auto cost = CostOfRun(view, workload);
    if (!cost) {
      ++queue.unpriced;
      continue;
    }
    queue.cost.rate = api::AddAmounts(queue.cost.rate, cost->rate);
    queue.cost.so_far = api::AddAmounts(queue.cost.so_far, cost->so_far);
  }
  return queues;
}

nlohmann::json RunCostJson(const std::optional<RunCost>& cost) {
  if (!cost) return {};
  return {{"usdPerHour", provisioning::Dollars(cost->rate)},
          {"usd", provisioning::Dollars(cost->so_far)}};
}

std::string ShortDollars(std::int64_t nano_dollars) {
  if (nano_dollars < kNanoPerCent) return provisioning::Dollars(nano_dollars);
  const std::int64_t rest = nano_dollars % kNanoPerCent;
  return provisioning::Dollars(nano_dollars - rest + (rest * 2 >= kNanoPerCent ? kNanoPerCent : 0));
}

}  // namespace berth::cli

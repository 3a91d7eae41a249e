#include "view/screens/cost_screen.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "api/reasons.h"
#include "provisioning/check_settings.h"
#include "provisioning/gang.h"
#include "provisioning/money.h"
#include "provisioning/request_state.h"
#include "provisioning/spend.h"
#include "provisioning/vetoes.h"
#include "view/screens/find_named.h"

namespace berth::view {
namespace {

using provisioning::Metered;

constexpr Duration kMeterIsFresh = std::chrono::minutes(10);
constexpr std::int64_t kNanoPerCent = 10'000'000;

struct NodeCost {
  std::int64_t nodes = 0;
  std::int64_t nano_dollars = 0;  // what one node costs in an hour
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

// The controller writes a meter every five minutes: a newer one still counts.
void AddMeter(const api::NodeMeter& meter, WallTime now, Metered& sum) {
  api::NodeMeter seen = meter;
  seen.open = meter.open && now - meter.until < kMeterIsFresh;
  sum.Add(seen, seen.open ? std::max(now, meter.until) : meter.until);
}

Metered MeasuredFor(const ClusterView& view, const api::Workload& workload) {
  Metered sum;
  const std::string queue = provisioning::QueueOf(workload);
  for (const MetersView& each : view.meters) {
    if (each.queue != queue) continue;
    for (const auto& [id, meter] : each.meters.meters) {
      if (provisioning::IsOf(id, workload.meta.uid)) AddMeter(meter, view.now, sum);
    }
  }
  return sum;
}

}  // namespace

std::vector<MeasuredQueue> MeasuredQueues(const ClusterView& view) {
  std::vector<MeasuredQueue> queues;
  for (const MetersView& each : view.meters) {
    MeasuredQueue queue{.queue = each.queue};
    for (const auto& [id, meter] : each.meters.meters) AddMeter(meter, view.now, queue.nodes);
    queues.push_back(std::move(queue));
  }
  std::sort(queues.begin(), queues.end(),
            [](const auto& a, const auto& b) { return a.queue < b.queue; });
  return queues;
}

std::optional<RunCost> CostOfRun(const ClusterView& view, const api::Workload& workload) {
  const Metered measured = MeasuredFor(view, workload);
  if (measured.seconds > 0 && measured.unpriced == 0) {
    return RunCost{measured.hourly_nano, measured.nano_dollars, /*is_measured=*/true};
  }
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
  cost.so_far = provisioning::CostFor(cost.rate, seconds);
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

nlohmann::json PricesJson(const ClusterView& view) {
  nlohmann::json prices = nlohmann::json::array();
  provisioning::FlavorsByName flavors;
  for (const api::ResourceFlavor& flavor : view.flavors) flavors[flavor.meta.name] = flavor;
  for (const auto& [name, flavor] : flavors) {
    const auto price = provisioning::PriceOf({.flavor = name}, &flavors);
    if (!price) continue;
    prices.push_back({{"flavor", name}, {"usdPerHour", provisioning::Dollars(price->NanoValue())}});
  }
  for (const api::ProvisioningPolicy& policy : view.provisioning_policies) {
    for (const api::ProvisioningStep& step : policy.steps) {
      const auto price = provisioning::PriceOf(step, &flavors);
      if (!price) continue;
      prices.push_back({{"flavor", step.flavor},
                        {"policy", policy.meta.name},
                        {"step", step.name},
                        {"class", step.provisioning_class_name},
                        {"usdPerHour", provisioning::Dollars(price->NanoValue())}});
    }
  }
  return prices;
}

nlohmann::json RunCostJson(const std::optional<RunCost>& cost) {
  if (!cost) return {};
  nlohmann::json out{{"usdPerHour", provisioning::Dollars(cost->rate)},
                     {"usd", provisioning::Dollars(cost->so_far)}};
  if (cost->is_measured) out["measured"] = true;
  return out;
}

std::string ShortDollars(std::int64_t nano_dollars) {
  if (nano_dollars < kNanoPerCent) return provisioning::Dollars(nano_dollars);
  const std::int64_t rest = nano_dollars % kNanoPerCent;
  return provisioning::Dollars(nano_dollars - rest + (rest * 2 >= kNanoPerCent ? kNanoPerCent : 0));
}

}  // namespace berth::view

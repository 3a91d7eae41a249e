// view/screens/cost_screen.h — what a running Workload costs, for `berth list --cost` and
// `berth status --cost`.
//
// The price of a node is the price of the policy's step that requested it, else the price of the
// flavor. The number of nodes is the least that the step's pool needs, else one for each pod. The
// cost so far is the cost of the present run, since its nodes joined, or else since its admission.
//
// If nodes are measured (provisioning/meter.h), the measured cost is shown instead: the cost of all
// runs of the Workload, boots and idle nodes included.
//
// Pure. Units: USD in billionths.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "provisioning/meter.h"
#include "view/screens/cluster_view.h"

namespace berth::view {

struct RunCost {
  std::int64_t rate = 0;    // what all nodes cost in an hour
  std::int64_t so_far = 0;  // saturating
  bool is_measured = false;
  friend bool operator==(const RunCost&, const RunCost&) = default;
};

// nullopt: nothing is measured, and the Workload does not run or no price is known.
std::optional<RunCost> CostOfRun(const ClusterView& view, const api::Workload& workload);

struct QueueCost {
  int running = 0;
  int unpriced = 0;  // the number of running Workloads without a price
  RunCost cost;
};
// The cost of the Workloads that run in each ClusterQueue, by the queue's name.
std::map<std::string, QueueCost> CostByQueue(const ClusterView& view);

// The nodes of a LocalQueue in the last week, measured.
struct MeasuredQueue {
  std::string queue;  // namespace/name
  provisioning::Metered nodes;
};
std::vector<MeasuredQueue> MeasuredQueues(const ClusterView& view);

// {"usdPerHour", "usd"}, decimal numbers as text; null: unknown. "measured": true where it is so.
nlohmann::json RunCostJson(const std::optional<RunCost>& cost);

// What one node costs, where it is known: {"flavor", "usdPerHour"} of each flavor, and with
// "policy" and "step" of each step of a policy.
nlohmann::json PricesJson(const ClusterView& view);

// "1.04", with two decimals at most: 12.3456 → "12.35", 0.004 → "0.004".
std::string ShortDollars(std::int64_t nano_dollars);

}  // namespace berth::view

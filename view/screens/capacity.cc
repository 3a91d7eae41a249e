#include "view/screens/capacity.h"

#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "api/owner_key.h"
#include "base/nearest_rank.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "provisioning/money.h"
#include "view/screens/cost_screen.h"
#include "view/screens/pending_capacity.h"
#include "view/screens/reason.h"

namespace berth::view {
namespace {

constexpr Duration kDay = std::chrono::hours(24);

// The outcomes of the last day.
struct Lately {
  int asked = 0;
  int granted = 0;
  std::optional<std::int64_t> median_wait_seconds;  // the median of those that were granted
};

Lately LatelyOf(const api::StockEntry& entry, WallTime now) {
  Lately lately;
  std::vector<std::int64_t> waits;
  for (const api::StockOutcome& outcome : entry.outcomes) {
    if (now - outcome.asked_at > kDay) continue;
    ++lately.asked;
    if (outcome.result == api::StockResult::kGranted) waits.push_back(outcome.wait_seconds);
  }
  lately.granted = static_cast<int>(waits.size());
  lately.median_wait_seconds = QuantileOf(std::move(waits), 0.5);
  return lately;
}

// "1", "2-4", "65 and more"
std::string SizeWord(std::int32_t size) {
  switch (size) {
    case 1: return "1";
    case 2: return "2-4";
    case 5: return "5-16";
    case 17: return "17-64";
    default: return std::to_string(size) + " and more";
  }
}

std::string PoolUsers(const ClusterView& view, const NodePoolView& pool) {
  std::set<std::string> nodes;
  for (const NodeView& node : view.nodes) {
    if (node.pool == pool.name) nodes.insert(node.name);
  }
  std::set<std::string> users;
  for (const PodView& pod : view.pods) {
    if (nodes.contains(pod.node_name) && pod.phase != "Succeeded" && pod.phase != "Failed") {
      users.insert(pod.namespace_name + "/" + (pod.job_name.empty() ? pod.name : pod.job_name));
    }
  }
  return users.empty() ? "-" : Join({users.begin(), users.end()}, ", ");
}

std::string StepOf(const api::ProvisioningRequest& request) {
  const std::string* step =
      api::FindValue(request.meta.annotations, api::kProvisioningStepAnnotation);
  const std::string* zone =
      api::FindValue(request.meta.annotations, api::kProvisioningZoneAnnotation);
  if (step == nullptr) return "-";
  return *step + (zone == nullptr ? "" : " in " + *zone);
}

// What the nodes of the Workload cost, where they are measured.
std::optional<RunCost> MeasuredCost(const ClusterView& view, const api::Workload* workload) {
  const auto cost = workload == nullptr ? std::nullopt : CostOfRun(view, *workload);
  return cost && cost->is_measured ? cost : std::nullopt;
}

std::string HoursOf(std::int64_t seconds) {
  constexpr std::int64_t kTenthOfAnHour = 360;
  const std::int64_t tenths = seconds / kTenthOfAnHour;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string RenderMeasured(const ClusterView& view, const TextStyle& style) {
  TextTable table({{"COST OF QUEUE"},
                   {"NODES", Align::kRight},
                   {"USD/HOUR", Align::kRight},
                   {"NODE HOURS IN 7D", Align::kRight},
                   {"USD IN 7D", Align::kRight}});
  for (const MeasuredQueue& queue : MeasuredQueues(view)) {
    table.AddRow({queue.queue, std::to_string(queue.nodes.open),
                  ShortDollars(queue.nodes.hourly_nano), HoursOf(queue.nodes.seconds),
                  ShortDollars(queue.nodes.nano_dollars) +
                      (queue.nodes.unpriced == 0 ? "" : " and nodes without a price")});
  }
  return table.empty() ? "" : "\n" + table.Render(style);
}

std::string RenderAsked(const ClusterView& view, const TextStyle& style) {
  std::vector<Column> columns{
      {"CAPACITY REQUESTS"}, {"CLASS"}, {"STEP"}, {"STATE"}, {"AGE", Align::kRight}};
  if (!view.meters.empty()) columns.push_back({"USD SO FAR", Align::kRight});
  columns.push_back({"FOR"});
  TextTable table(std::move(columns));
  for (const api::ProvisioningRequest& request : view.provisioning_requests) {
    const api::Workload* workload = OwnerOf(view, request);
    std::vector<std::string> cells{request.meta.key().ToString(), request.provisioning_class_name,
                                   StepOf(request), RequestStateWord(request),
                                   HumanDuration(view.now - request.meta.creation_timestamp)};
    const auto cost = MeasuredCost(view, workload);
    if (!view.meters.empty()) cells.push_back(cost ? ShortDollars(cost->so_far) : "-");
    cells.push_back(workload == nullptr ? "-" : DisplayName(*workload));
    table.AddRow(std::move(cells));
  }
  return table.empty() ? "no requests for capacity\n" : table.Render(style);
}

std::string RestCell(const api::StockEntry& entry, WallTime now) {
  if (entry.rest_until <= now) return "-";
  return "until " + FormatTime(entry.rest_until) + " (" + HumanDuration(entry.rest_until - now) +
         "), " + entry.reason;
}

std::string RenderStock(const ClusterView& view, const TextStyle& style) {
  TextTable table({{"STOCK OF CLASS"},
                   {"FLAVOR"},
                   {"ZONE"},
                   {"PODS", Align::kRight},
                   {"SHAPE"},
                   {"GRANTED IN 24H"},
                   {"MEDIAN WAIT", Align::kRight},
                   {"RESTS"}});
  for (const StockView& each : view.stock) {
    for (const api::StockEntry& entry : each.stock) {
      const Lately lately = LatelyOf(entry, view.now);
      table.AddRow({each.provisioning_class, entry.key.flavor,
                    entry.key.zone.empty() ? "any" : entry.key.zone, SizeWord(entry.key.size),
                    entry.key.shape,
                    std::to_string(lately.granted) + " of " + std::to_string(lately.asked),
                    lately.median_wait_seconds
                        ? HumanDuration(std::chrono::seconds(*lately.median_wait_seconds))
                        : "-",
                    RestCell(entry, view.now)});
    }
  }
  return table.empty() ? "" : "\n" + table.Render(style);
}

nlohmann::json StockJson(const StockView& each, const api::StockEntry& entry, WallTime now) {
  const Lately lately = LatelyOf(entry, now);
  const bool rests = entry.rest_until > now;
  return {
      {"class", each.provisioning_class},
      {"flavor", entry.key.flavor},
      {"zone", entry.key.zone},
      {"shape", entry.key.shape},
      {"leastPods", entry.key.size},
      {"askedInADay", lately.asked},
      {"grantedInADay", lately.granted},
      {"medianWaitSeconds",
       lately.median_wait_seconds ? nlohmann::json(*lately.median_wait_seconds) : nlohmann::json()},
      {"restsUntil", rests ? nlohmann::json(FormatTime(entry.rest_until)) : nlohmann::json()},
      {"failuresInARow", entry.strikes},
      {"reason", rests ? nlohmann::json(entry.reason) : nlohmann::json()}};
}

nlohmann::json MaybeNumber(const std::optional<int>& number) {
  return number ? nlohmann::json(*number) : nlohmann::json();
}

nlohmann::json PoolJson(const NodePoolView& pool) {
  nlohmann::json zones = nlohmann::json::array();
  for (const auto& [zone, stock] : pool.stock_by_zone) {
    zones.push_back({{"zone", zone}, {"totalStock", stock}});
  }
  return {{"name", pool.name},
          {"machineType", pool.machine_type},
          {"nodes", pool.node_count},
          {"maxNodes", MaybeNumber(pool.max_nodes)},
          {"stock", MaybeNumber(pool.stock)},
          {"totalStock", MaybeNumber(pool.total_stock)},
          {"stockByZone", std::move(zones)}};
}

}  // namespace

std::string RequestStateWord(const api::ProvisioningRequest& request) {
  for (const char* type :
       {"Failed", "CapacityRevoked", "BookingExpired", "Provisioned", "Accepted"}) {
    if (api::IsTrue(request.conditions, type)) return type;
  }
  return "Pending";
}

const api::Workload* OwnerOf(const ClusterView& view, const api::ProvisioningRequest& request) {
  const auto found = std::find_if(view.workloads.begin(), view.workloads.end(),
                                  [&request](const api::Workload& workload) {
                                    return api::IsOwnedBy(request.meta, workload.meta);
                                  });
  return found == view.workloads.end() ? nullptr : &*found;
}

std::string RenderPools(const ClusterView& view, const TextStyle& style) {
  TextTable table(
      {{"POOL"}, {"MACHINE"}, {"GPU"}, {"NODES"}, {"STOCK", Align::kRight}, {"USED BY"}});
  for (const NodePoolView& pool : view.node_pools) {
    std::string accelerator = "-";
    if (pool.accelerator_count > 0) {
      accelerator = std::to_string(pool.accelerator_count) + (style.ascii ? " x " : " × ") +
                    pool.accelerator_type;
    }
    table.AddRow({pool.name, pool.machine_type, accelerator,
                  std::to_string(pool.node_count) +
                      (pool.max_nodes ? " of " + std::to_string(*pool.max_nodes) : ""),
                  pool.stock ? std::to_string(*pool.stock) : (style.ascii ? "inf" : "∞"),
                  PoolUsers(view, pool)});
  }
  return table.empty() ? "" : "\n" + table.Render(style);
}

std::string RenderCapacity(const ClusterView& view, const TextStyle& style) {
  std::string screen = RenderAsked(view, style) + RenderPendingCapacity(view, style) +
                       RenderPools(view, style) + RenderKarpenterPools(view, style) +
                       RenderMeasured(view, style) + RenderStock(view, style);
  if (view.stock.empty() && IsKnown(view, "configmaps")) {
    screen += "\nthe stock memory is empty: only a ProvisioningPolicy fills it\n";
  }
  const std::vector<std::string> not_seen = NotSeen(view);
  if (!not_seen.empty()) screen += "\n" + Join(not_seen, "\n") + "\n";
  return screen;
}

nlohmann::json CapacityScreenJson(const ClusterView& view) {
  nlohmann::json out = {{"time", FormatTime(view.now)},
                        {"requests", nlohmann::json::array()},
                        {"nodePools", nlohmann::json::array()},
                        {"stock", nlohmann::json::array()},
                        {"cost", nlohmann::json::array()},
                        {"pendingPods", PendingCapacityJson(view)},
                        {"karpenterNodePools", KarpenterPoolsJson(view)},
                        {"hidden", view.hidden},
                        {"narrowed", view.narrowed}};
  for (const api::ProvisioningRequest& request : view.provisioning_requests) {
    const api::Workload* workload = OwnerOf(view, request);
    const std::string step = StepOf(request);
    out["requests"].push_back(
        {{"namespace", request.meta.namespace_name},
         {"name", request.meta.name},
         {"class", request.provisioning_class_name},
         {"policyStep", step == "-" ? nlohmann::json() : nlohmann::json(step)},
         {"state", RequestStateWord(request)},
         {"ageSeconds",
          std::chrono::floor<std::chrono::seconds>(view.now - request.meta.creation_timestamp)
              .count()},
         {"cost", RunCostJson(MeasuredCost(view, workload))},
         {"workload",
          workload == nullptr ? nlohmann::json() : nlohmann::json(workload->meta.name)}});
  }
  for (const MeasuredQueue& queue : MeasuredQueues(view)) {
    out["cost"].push_back({{"localQueue", queue.queue},
                           {"nodes", queue.nodes.open},
                           {"usdPerHour", provisioning::Dollars(queue.nodes.hourly_nano)},
                           {"nodeSeconds", queue.nodes.seconds},
                           {"usd", provisioning::Dollars(queue.nodes.nano_dollars)},
                           {"nodesWithoutPrice", queue.nodes.unpriced}});
  }
  for (const NodePoolView& pool : view.node_pools) out["nodePools"].push_back(PoolJson(pool));
  for (const StockView& each : view.stock) {
    for (const api::StockEntry& entry : each.stock) {
      out["stock"].push_back(StockJson(each, entry, view.now));
    }
  }
  return out;
}

}  // namespace berth::view

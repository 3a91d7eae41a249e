#include "view/screens/pending_capacity.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/reasons.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "checks/check_kinds.h"
#include "provisioning/pod_sets.h"
#include "provisioning/reactive.h"
#include "view/screens/find_named.h"
#include "view/screens/reason.h"

namespace berth::view {
namespace {

struct PendingRow {
  const api::Workload* workload = nullptr;
  const api::AdmissionCheckState* check = nullptr;
  WallTime since{};
};

// The checks of pending pods under which the Workload waits.
std::vector<PendingRow> RowsOf(const ClusterView& view, const api::Workload& workload) {
  std::vector<PendingRow> rows;
  const api::Condition* reserved =
      api::FindCondition(workload.status.conditions, api::kQuotaReserved);
  if (reserved == nullptr || reserved->status != api::ConditionStatus::kTrue) return rows;
  if (api::IsTrue(workload.status.conditions, api::kFinished)) return rows;
  for (const api::AdmissionCheckState& state : workload.status.admission_checks) {
    const api::AdmissionCheck* check = FindNamed(view.admission_checks, state.name);
    if (check == nullptr ||
        checks::CapacityOf(check->controller_name) != checks::Capacity::kPendingPods) {
      continue;
    }
    if (state.state == api::CheckState::kReady &&
        !state.message.starts_with(provisioning::kPodsWaitPrefix))
      continue;
    rows.push_back({&workload, &state, reserved->last_transition_time});
  }
  return rows;
}

std::vector<PendingRow> PendingRows(const ClusterView& view) {
  std::vector<PendingRow> rows;
  for (const api::Workload& workload : view.workloads) {
    for (const PendingRow& row : RowsOf(view, workload)) rows.push_back(row);
  }
  return rows;
}

std::string StateWord(const api::AdmissionCheckState& check) {
  return check.state == api::CheckState::kReady ? "PodsWait" : "Pending";
}

// "cpu 4 of 8, nodes 2 of 4": the limits first, then what has none.
std::string UsedText(const api::KarpenterNodePool& pool) {
  std::vector<std::string> parts;
  for (const auto& [resource, limit] : pool.limits) {
    const auto used = pool.used.find(resource);
    parts.push_back(resource + " " +
                    api::FormatAmount(resource, used == pool.used.end() ? 0 : used->second) +
                    " of " + api::FormatAmount(resource, limit));
  }
  return parts.empty() ? "-" : Join(parts, ", ");
}

std::string NodesText(const api::KarpenterNodePool& pool) {
  const auto nodes = pool.used.find("nodes");
  return nodes == pool.used.end() ? "-" : api::FormatAmount("nodes", nodes->second);
}

std::string ReadyText(const api::KarpenterNodePool& pool) {
  const api::Condition* ready = api::FindCondition(pool.conditions, "Ready");
  if (ready == nullptr) return "-";
  return ready->status == api::ConditionStatus::kTrue ? "yes" : "no (" + ready->reason + ")";
}

}  // namespace

bool WaitsForNodes(const ClusterView& view, const api::Workload& workload) {
  return !RowsOf(view, workload).empty();
}

std::string RenderPendingCapacity(const ClusterView& view, const TextStyle& style) {
  TextTable table(
      {{"WAITS FOR NODES"}, {"CHECK"}, {"FLAVOR"}, {"STATE"}, {"AGE", Align::kRight}, {"MESSAGE"}});
  for (const PendingRow& row : PendingRows(view)) {
    table.AddRow({DisplayName(*row.workload), row.check->name,
                  Join(provisioning::FlavorsOf(*row.workload), ", "), StateWord(*row.check),
                  HumanDuration(view.now - row.since),
                  row.check->message.empty() ? "-" : row.check->message});
  }
  return table.empty() ? "" : "\n" + table.Render(style);
}

std::string RenderKarpenterPools(const ClusterView& view, const TextStyle& style) {
  TextTable table(
      {{"NODEPOOL OF KARPENTER"}, {"NODES", Align::kRight}, {"USED OF LIMITS"}, {"READY"}});
  for (const api::KarpenterNodePool& pool : view.karpenter_pools) {
    table.AddRow({pool.meta.name, NodesText(pool), UsedText(pool), ReadyText(pool)});
  }
  return table.empty() ? "" : "\n" + table.Render(style);
}

nlohmann::json PendingCapacityJson(const ClusterView& view) {
  nlohmann::json rows = nlohmann::json::array();
  for (const PendingRow& row : PendingRows(view)) {
    rows.push_back(
        {{"namespace", row.workload->meta.namespace_name},
         {"workload", row.workload->meta.name},
         {"check", row.check->name},
         {"flavors", provisioning::FlavorsOf(*row.workload)},
         {"state", StateWord(*row.check)},
         {"ageSeconds", std::chrono::floor<std::chrono::seconds>(view.now - row.since).count()},
         {"message", row.check->message}});
  }
  return rows;
}

nlohmann::json KarpenterPoolsJson(const ClusterView& view) {
  nlohmann::json pools = nlohmann::json::array();
  for (const api::KarpenterNodePool& pool : view.karpenter_pools) {
    nlohmann::json limits = nlohmann::json::object();
    nlohmann::json used = nlohmann::json::object();
    for (const auto& [resource, amount] : pool.limits) {
      limits[resource] = api::FormatAmount(resource, amount);
    }
    for (const auto& [resource, amount] : pool.used) {
      used[resource] = api::FormatAmount(resource, amount);
    }
    const api::Condition* ready = api::FindCondition(pool.conditions, "Ready");
    pools.push_back({{"name", pool.meta.name},
                     {"limits", std::move(limits)},
                     {"used", std::move(used)},
                     {"ready", ready == nullptr ? nlohmann::json()
                                                : nlohmann::json(ready->status ==
                                                                 api::ConditionStatus::kTrue)}});
  }
  return pools;
}

}  // namespace berth::view

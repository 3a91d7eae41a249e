#include "cli/screens/list.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "api/reasons.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "cli/screens/cost.h"
#include "cli/screens/reason.h"

namespace berth::cli {
namespace {

std::string StateOf(const api::Workload& workload) {
  const auto& conditions = workload.status.conditions;
  if (IsFinished(workload)) {
    const api::Condition* finished = api::FindCondition(conditions, api::kFinished);
    return finished->reason == api::kSucceeded ? "succeeded" : "failed";
  }
  if (!workload.spec.active) return "deactivated";
  if (IsRunning(workload)) return "running";
  if (api::IsTrue(conditions, api::kEvicted) && api::IsTrue(conditions, api::kQuotaReserved)) {
    return "stopping";
  }
  return api::IsTrue(conditions, api::kQuotaReserved) ? "reserved" : "waiting";
}

std::string Remark(const ClusterView& view, const api::Workload& workload, const TextStyle& style) {
  if (IsFinished(workload)) return FinishedResult(view, workload);
  if (IsRunning(workload)) return RunningPlace(view, workload);
  if (workload.spec.active) return WaitingReason(view, workload, style).Line();
  const api::Condition* evicted = api::FindCondition(workload.status.conditions, api::kEvicted);
  return evicted == nullptr ? "deactivated: set spec.active: true on its Workload to queue it again"
                            : evicted->message;
}

bool Wanted(const ClusterView& view, const api::Workload& workload, const ListOptions& options) {
  if (!options.namespace_name.empty() && workload.meta.namespace_name != options.namespace_name) {
    return false;
  }
  if (options.waiting || options.running || options.finished) {
    const bool is_wanted_state =
        (options.waiting && !IsFinished(workload) && !IsRunning(workload)) ||
        (options.running && IsRunning(workload)) || (options.finished && IsFinished(workload));
    if (!is_wanted_state) return false;
  }
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  const api::Job* job =
      owner == nullptr ? nullptr : FindJob(view, {workload.meta.namespace_name, owner->name});
  return std::all_of(options.labels.begin(), options.labels.end(), [&](const auto& label) {
    const std::string* value = api::FindValue(workload.meta.labels, label.first);
    if (value == nullptr && job != nullptr) value = api::FindValue(job->meta.labels, label.first);
    return value != nullptr && *value == label.second;
  });
}

// Waiting workloads in queue order, then running ones, then finished ones.
std::vector<const api::Workload*> Selected(const ClusterView& view, const ListOptions& options) {
  std::vector<const api::Workload*> chosen = InQueueOrder(view);
  for (const api::Workload& workload : view.workloads) {
    if (!IsWaiting(workload)) chosen.push_back(&workload);
  }
  std::erase_if(chosen, [&](const api::Workload* w) { return !Wanted(view, *w, options); });
  const auto group = [](const api::Workload& w) {
    return IsFinished(w) ? 2 : IsRunning(w) ? 1 : 0;
  };
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](const api::Workload* a, const api::Workload* b) {
                     if (options.sort == "age") {
                       return a->meta.creation_timestamp < b->meta.creation_timestamp;
                     }
                     if (options.sort == "name") return DisplayName(*a) < DisplayName(*b);
                     if (options.sort == "priority") return PriorityOf(*a) > PriorityOf(*b);
                     if (options.sort == "state") return StateOf(*a) < StateOf(*b);
                     return group(*a) < group(*b);
                   });
  return chosen;
}

std::string NameWithoutNamespace(const api::Workload& workload) {
  return DisplayName(workload).substr(workload.meta.namespace_name.size() + 1);
}

// The requests of all its pods: as admitted, or as in the spec.
nlohmann::json RequestsJson(const api::Workload& workload) {
  api::ResourceAmounts sums;
  const auto add = [&sums](const api::ResourceAmounts& amounts, std::int64_t times) {
    for (const auto& [resource, amount] : amounts) {
      sums[resource] = api::AddAmounts(sums[resource], api::MultiplyAmounts(amount, times));
    }
  };
  if (workload.status.admission) {
    for (const auto& assigned : workload.status.admission->pod_set_assignments) {
      add(assigned.resource_usage, 1);
    }
  } else {
    for (const api::PodSet& pods : workload.spec.pod_sets) {
      add(api::PodRequests(pods.pod_template.spec), pods.count);
    }
  }
  nlohmann::json out = nlohmann::json::array();
  for (const auto& [resource, amount] : sums) {
    out.push_back({{"resource", resource}, {"unit", UnitOf(resource)}, {"amount", amount}});
  }
  return out;
}

void AddCost(const std::optional<RunCost>& cost, std::vector<std::string>& cells) {
  cells.push_back(cost ? ShortDollars(cost->rate) : "-");
  cells.push_back(cost ? ShortDollars(cost->so_far) : "-");
}

}  // namespace

Result<std::string> RenderList(const ClusterView& view, const ListOptions& options,
                               const TextStyle& style) {
  for (const char* known : {"queue", "age", "name", "priority", "state"}) {
    if (options.sort != known) continue;
    std::vector<Column> columns{
        {"NAMESPACE"},         {"NAME"}, {"KIND"}, {"QUEUE"}, {"PRIO", Align::kRight}, {"STATE"},
        {"AGE", Align::kRight}};
    if (options.cost) {
      columns.push_back({"USD/HOUR", Align::kRight});
      columns.push_back({"USD", Align::kRight});
    }
    columns.push_back({"WHERE/REASON"});
    TextTable table(std::move(columns));
    for (const api::Workload* workload : Selected(view, options)) {
      std::vector<std::string> cells{workload->meta.namespace_name,
                                     NameWithoutNamespace(*workload),
                                     OwnerKind(*workload),
                                     workload->spec.queue_name,
                                     std::to_string(PriorityOf(*workload)),
                                     StateOf(*workload),
                                     HumanDuration(view.now - workload->meta.creation_timestamp)};
      if (options.cost) AddCost(CostOfRun(view, *workload), cells);
      cells.push_back(Remark(view, *workload, style));
      table.AddRow(std::move(cells));
    }
    std::string text = table.empty() ? "nothing is queued here\n" : table.Render(style);
    const std::vector<std::string> not_seen = NotSeen(view);
    if (!not_seen.empty()) text += "\n" + Join(not_seen, "\n") + "\n";
    return text;
  }
  return Error{ErrorCode::kInvalid,
               "--sort " + options.sort + ": use queue, age, name, priority or state"};
}

nlohmann::json ListJson(const ClusterView& view, const ListOptions& options) {
  nlohmann::json items = nlohmann::json::array();
  for (const api::Workload* workload : Selected(view, options)) {
    items.push_back({{"namespace", workload->meta.namespace_name},
                     {"workload", workload->meta.name},
                     {"name", NameWithoutNamespace(*workload)},
                     {"kind", OwnerKind(*workload)},
                     {"localQueue", workload->spec.queue_name},
                     {"clusterQueue", ClusterQueueOf(view, *workload)},
                     {"priority", PriorityOf(*workload)},
                     {"state", StateOf(*workload)},
                     {"createdAt", FormatTime(workload->meta.creation_timestamp)},
                     {"ageSeconds", std::chrono::floor<std::chrono::seconds>(
                                        view.now - workload->meta.creation_timestamp)
                                        .count()},
                     {"requests", RequestsJson(*workload)},
                     {"remark", Remark(view, *workload, {})}});
    if (options.cost) items.back()["cost"] = RunCostJson(CostOfRun(view, *workload));
  }
  return {{"items", std::move(items)}, {"hidden", view.hidden}, {"narrowed", view.narrowed}};
}

}  // namespace berth::cli

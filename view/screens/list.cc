#include "view/screens/list.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "api/reasons.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "view/screens/cost_screen.h"
#include "view/screens/eta_cell.h"
#include "view/screens/items.h"
#include "view/screens/place_in_queue.h"
#include "view/screens/reason.h"

namespace berth::view {
namespace {

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
                     if (options.sort == "state") {
                       return WorkloadStateOf(view, *a) < WorkloadStateOf(view, *b);
                     }
                     return group(*a) < group(*b);
                   });
  return chosen;
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
    const std::vector<const api::Workload*> selected = Selected(view, options);
    const bool eta = HasForecast(view, selected);
    const auto places = PlacesInQueues(view);
    if (eta) columns.push_back({"ETA", Align::kRight});
    columns.push_back({"WHERE/REASON"});
    TextTable table(std::move(columns));
    for (const api::Workload* workload : selected) {
      std::vector<std::string> cells{workload->meta.namespace_name,
                                     NameWithoutNamespace(*workload),
                                     OwnerKind(*workload),
                                     workload->spec.queue_name,
                                     std::to_string(PriorityOf(*workload)),
                                     WorkloadStateOf(view, *workload),
                                     HumanDuration(view.now - workload->meta.creation_timestamp)};
      if (options.cost) AddCost(CostOfRun(view, *workload), cells);
      if (eta) cells.push_back(EtaCell(view, *workload));
      const auto place = places.find(workload);
      const bool is_behind = place != places.end() && place->second.equal != nullptr;
      cells.push_back(is_behind
                          ? BehindText(*place->second.equal) + ", " + PositionText(place->second)
                          : RemarkOf(view, *workload, style));
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
  const auto places = PlacesInQueues(view);
  for (const api::Workload* workload : Selected(view, options)) {
    items.push_back(WorkloadItem(view, *workload));
    items.back()["ageSeconds"] =
        std::chrono::floor<std::chrono::seconds>(view.now - workload->meta.creation_timestamp)
            .count();
    if (const auto place = places.find(workload); place != places.end()) {
      items.back()["positionInLocalQueue"] = place->second.position;
      items.back()["waitingInLocalQueue"] = place->second.waiting;
    }
    if (options.cost) items.back()["cost"] = RunCostJson(CostOfRun(view, *workload));
  }
  return {{"items", std::move(items)}, {"hidden", view.hidden}, {"narrowed", view.narrowed}};
}

}  // namespace berth::view

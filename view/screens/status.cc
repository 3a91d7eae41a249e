#include "view/screens/status.h"

#include <algorithm>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "api/reasons.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "view/screens/capacity.h"
#include "view/screens/cost_screen.h"
#include "view/screens/eta_cell.h"
#include "view/screens/items.h"
#include "view/screens/place_in_queue.h"
#include "view/screens/reason.h"
#include "view/screens/usage.h"

namespace berth::view {
namespace {

// Whether `name` is the LocalQueue, or its ClusterQueue.
bool Feeds(const api::LocalQueue& local, const std::string& name) {
  return local.meta.name == name || local.meta.key().ToString() == name ||
         local.cluster_queue == name;
}

// Whether `queue` is selected: by its name, its cohort tree, or one of its LocalQueues.
bool IsShown(const ClusterView& view, const api::ClusterQueue& queue, const std::string& only) {
  if (only.empty() || queue.meta.name == only || queue.spec.cohort_name == only) return true;
  if (!queue.spec.cohort_name.empty() && RootCohort(view, queue.spec.cohort_name) == only) {
    return true;
  }
  return std::any_of(view.local_queues.begin(), view.local_queues.end(),
                     [&](const api::LocalQueue& local) {
                       return local.cluster_queue == queue.meta.name && Feeds(local, only);
                     });
}

bool IsShown(const ClusterView& view, const api::Workload& workload, const std::string& only) {
  if (only.empty()) return true;
  if (workload.spec.queue_name == only ||
      workload.meta.namespace_name + "/" + workload.spec.queue_name == only) {
    return true;
  }
  const std::string queue_name = ClusterQueueOf(view, workload);
  if (queue_name == only) return true;
  const api::ClusterQueue* queue = FindClusterQueue(view, queue_name);
  const bool names_local_queue =
      std::any_of(view.local_queues.begin(), view.local_queues.end(),
                  [&](const api::LocalQueue& local) { return local.meta.name == only; });
  return queue != nullptr && !names_local_queue && IsShown(view, *queue, only);
}

// The resources with a column: those that a shown queue has quota for, cpu and memory first, at
// most four.
std::vector<std::string> ShownResources(const std::map<std::string, QueueUse>& use_by_queue) {
  std::set<std::string> present;
  for (const auto& [name, use] : use_by_queue) {
    for (const auto& [resource, amounts] : use.resources) present.insert(resource);
  }
  std::vector<std::string> shown;
  const auto take = [&](const std::string& resource) {
    if (present.erase(resource) > 0) shown.push_back(resource);
  };
  take("cpu");
  for (const std::string& resource : std::set<std::string>(present)) {
    if (resource.find('/') != std::string::npos) take(resource);
  }
  take("memory");
  for (const std::string& resource : std::set<std::string>(present)) take(resource);
  constexpr std::size_t kMostColumns = 4;
  if (shown.size() > kMostColumns) shown.resize(kMostColumns);
  return shown;
}

std::string UseCell(const std::string& resource, const ResourceUse& use, const TextStyle& style) {
  std::string cell =
      Bar(use.used, IsInfinite(resource, use.nominal) ? INT64_MAX : use.nominal, style);
  cell += " " + ShowFinite(resource, use.used) + "/" + ShowAmount(resource, use.nominal, style);
  if (use.borrowed > 0) {
    cell += " " + Paint("borrows " + ShowFinite(resource, use.borrowed), Color::kYellow, style);
  }
  if (use.lent > 0) cell += " lends " + ShowFinite(resource, use.lent);
  return cell;
}

std::string QueueName(const api::ClusterQueue& queue, const TextStyle& style) {
  std::string name = queue.meta.name;
  if (queue.spec.queueing_strategy == api::QueueingStrategy::kStrictFifo) name += "  StrictFIFO";
  if (queue.spec.stop_policy != api::StopPolicy::kNone) {
    name += Paint(queue.spec.stop_policy == api::StopPolicy::kHold ? "  held" : "  drained",
                  Color::kYellow, style);
  } else if (api::IsFalse(queue.status.conditions, api::kActive)) {
    name += Paint("  inactive", Color::kRed, style);
  }
  for (const api::AdmissionCheckRule& rule : queue.spec.admission_checks) {
    name += "  check " + rule.check;
  }
  return name;
}

// For callers who may not read ClusterQueues: renders the status of each LocalQueue.
std::string RenderLocalQueues(const ClusterView& view, const StatusOptions& options,
                              const TextStyle& style) {
  TextTable table({{"LOCAL QUEUE"},
                   {"CLUSTER QUEUE"},
                   {"WAITING", Align::kRight},
                   {"RUNNING", Align::kRight},
                   {"RESERVED"}});
  for (const api::LocalQueue& local : view.local_queues) {
    if (!options.only.empty() && !Feeds(local, options.only)) continue;
    std::vector<std::string> reserved;
    for (const api::FlavorUsage& flavor : local.status.flavors_reservation) {
      for (const auto& each : flavor.resources) {
        if (each.total == 0) continue;
        reserved.push_back(each.resource + " " + ShowAmount(each.resource, each.total, style) +
                           " (" + flavor.flavor + ")");
      }
    }
    table.AddRow({local.meta.key().ToString(), local.cluster_queue,
                  std::to_string(local.status.pending_workloads),
                  std::to_string(local.status.admitted_workloads),
                  reserved.empty() ? "-" : Join(reserved, ", ")});
  }
  return table.empty() ? "no LocalQueues here\n" : table.Render(style);
}

nlohmann::json LocalQueuesJson(const ClusterView& view, const StatusOptions& options) {
  nlohmann::json out = nlohmann::json::array();
  for (const api::LocalQueue& local : view.local_queues) {
    if (!options.only.empty() && !Feeds(local, options.only)) continue;
    nlohmann::json resources = nlohmann::json::array();
    for (const api::FlavorUsage& flavor : local.status.flavors_reservation) {
      for (const auto& each : flavor.resources) {
        resources.push_back({{"flavor", flavor.flavor},
                             {"resource", each.resource},
                             {"unit", UnitOf(each.resource)},
                             {"used", each.total}});
      }
    }
    out.push_back(LocalQueueItem(local));
    out.back()["resources"] = std::move(resources);
  }
  return out;
}

std::string RenderQueues(const ClusterView& view, const StatusOptions& options,
                         const TextStyle& style) {
  if (!IsKnown(view, "clusterqueues")) return RenderLocalQueues(view, options, style);
  const auto use_by_queue = SumUse(view);
  const std::vector<std::string> resources = ShownResources(use_by_queue);
  std::vector<Column> columns{
      {"QUEUE"}, {"WAITING", Align::kRight}, {"RUNNING", Align::kRight}, {"OLDEST", Align::kRight}};
  for (const std::string& resource : resources) columns.push_back({resource});
  TextTable table(columns);
  for (const QueueTreeLine& line : DrawQueueTree(view, style.ascii)) {
    if (line.queue == nullptr) {
      if (options.only.empty()) table.AddRow({line.prefix + line.cohort + " (cohort)"});
      continue;
    }
    if (!IsShown(view, *line.queue, options.only)) continue;
    const QueueUse& use = use_by_queue.at(line.queue->meta.name);
    std::vector<std::string> cells{
        (options.only.empty() ? line.prefix : "") + QueueName(*line.queue, style),
        std::to_string(use.waiting), std::to_string(use.running),
        use.oldest == nullptr ? "-" : HumanDuration(view.now - WaitingSince(*use.oldest))};
    for (const std::string& resource : resources) {
      const auto found = use.resources.find(resource);
      cells.push_back(found == use.resources.end() ? "" : UseCell(resource, found->second, style));
    }
    table.AddRow(std::move(cells));
  }
  return table.empty() ? "no ClusterQueues yet: kubectl apply one to begin\n" : table.Render(style);
}

std::string RenderWaiting(const ClusterView& view, const StatusOptions& options,
                          const TextStyle& style) {
  std::vector<const api::Workload*> shown = InQueueOrder(view);
  std::erase_if(shown, [&](const api::Workload* w) { return !IsShown(view, *w, options.only); });
  const bool eta = HasForecast(view, shown);
  std::vector<Column> columns{{"WAITING"},
                              {"QUEUE"},
                              {"PRIO", Align::kRight},
                              {"NEXT", Align::kRight},
                              {"AGE", Align::kRight}};
  if (eta) columns.push_back({"ETA", Align::kRight});
  columns.push_back({"REASON"});
  TextTable table(std::move(columns));
  const auto places = PlacesInQueues(view);
  std::map<std::string, const api::Workload*> first_by_reason;
  for (const api::Workload* workload : shown) {
    const auto place = places.find(workload);
    std::string reason = WaitingReason(view, *workload, style).Line();
    // If reasons in one queue are equal, the first is shown; the others name the workload before
    // them.
    if (place != places.end() && place->second.equal != nullptr) {
      reason = BehindText(*place->second.equal);
    } else if (place != places.end()) {
      const auto [first, inserted] =
          first_by_reason.try_emplace(ClusterQueueOf(view, *workload) + "\n" + reason, workload);
      if (!inserted) reason = BehindText(*first->second);
    }
    std::vector<std::string> cells{
        DisplayName(*workload), workload->spec.queue_name, std::to_string(PriorityOf(*workload)),
        place == places.end() ? "-" : std::to_string(place->second.in_cluster_queue),
        HumanDuration(view.now - WaitingSince(*workload))};
    if (eta) cells.push_back(EtaCell(view, *workload));
    cells.push_back(std::move(reason));
    table.AddRow(std::move(cells));
  }
  return table.empty() ? "" : "\n" + table.Render(style);
}

// Admitted workloads that lack pods, since these are refused.
std::vector<const api::Workload*> LackingPods(const ClusterView& view,
                                              const StatusOptions& options) {
  std::vector<const api::Workload*> lacking;
  if (view.refused_pods.empty()) return lacking;
  for (const api::Workload& workload : view.workloads) {
    if (!IsShown(view, workload, options.only)) continue;
    if (!LackOfPods(view, workload).empty()) lacking.push_back(&workload);
  }
  return lacking;
}

std::string RenderLackingPods(const ClusterView& view, const StatusOptions& options,
                              const TextStyle& style) {
  TextTable table({{"ADMITTED, PODS REFUSED"}, {"QUEUE"}, {"AGE", Align::kRight}, {"REASON"}});
  for (const api::Workload* workload : LackingPods(view, options)) {
    const api::Condition* admitted =
        api::FindCondition(workload->status.conditions, api::kAdmitted);
    table.AddRow({DisplayName(*workload), workload->spec.queue_name,
                  HumanDuration(view.now - admitted->last_transition_time),
                  LackOfPods(view, *workload)});
  }
  return table.empty() ? "" : "\n" + table.Render(style);
}

std::string RenderRequests(const ClusterView& view, const StatusOptions& options,
                           const TextStyle& style) {
  TextTable table({{"CAPACITY REQUESTS"}, {"CLASS"}, {"STATE"}, {"AGE", Align::kRight}, {"FOR"}});
  for (const api::ProvisioningRequest& request : view.provisioning_requests) {
    const api::Workload* workload = OwnerOf(view, request);
    if (!options.only.empty() && (workload == nullptr || !IsShown(view, *workload, options.only))) {
      continue;
    }
    table.AddRow({request.meta.key().ToString(), request.provisioning_class_name,
                  RequestStateWord(request),
                  HumanDuration(view.now - request.meta.creation_timestamp),
                  workload == nullptr ? "-" : DisplayName(*workload)});
  }
  return table.empty() ? "" : "\n" + table.Render(style);
}

std::string RenderCost(const ClusterView& view, const StatusOptions& options,
                       const TextStyle& style) {
  TextTable table({{"COST"},
                   {"RUNNING", Align::kRight},
                   {"WITHOUT PRICE", Align::kRight},
                   {"USD/HOUR", Align::kRight},
                   {"USD SO FAR", Align::kRight}});
  for (const auto& [name, queue] : CostByQueue(view)) {
    const api::ClusterQueue* known = FindClusterQueue(view, name);
    if (known != nullptr && !IsShown(view, *known, options.only)) continue;
    table.AddRow({name, std::to_string(queue.running), std::to_string(queue.unpriced),
                  ShortDollars(queue.cost.rate), ShortDollars(queue.cost.so_far)});
  }
  return table.empty() ? "" : "\n" + table.Render(style);
}

std::string RenderHead(const ClusterView& view, const TextStyle& style) {
  int waiting = 0;
  int running = 0;
  int without_pods = 0;
  const api::Workload* oldest = nullptr;
  for (const api::Workload& workload : view.workloads) {
    if (IsWithoutPods(view, workload)) {
      ++without_pods;
    } else if (IsRunning(workload)) {
      ++running;
    }
    if (!IsWaiting(workload)) continue;
    ++waiting;
    if (oldest == nullptr || WaitingSince(workload) < WaitingSince(*oldest)) oldest = &workload;
  }
  const std::string dot = style.ascii ? " - " : " · ";
  std::string head = view.cluster_name;
  if (!view.namespace_name.empty()) head += ", namespace " + view.namespace_name;
  if (view.cluster_since) {  // its clock may be ahead of this machine's
    head += ", age " + HumanDuration(std::max(Duration::zero(), view.now - *view.cluster_since));
  }
  head += dot + std::to_string(waiting) + " waiting, " + std::to_string(running) + " running";
  if (without_pods > 0) head += ", " + std::to_string(without_pods) + " without pods";
  if (oldest != nullptr) {
    head += dot + "oldest wait " + HumanDuration(view.now - WaitingSince(*oldest)) + " (" +
            DisplayName(*oldest) + ")";
  }
  return head + "\n\n";
}

}  // namespace

bool IsKnownQueue(const ClusterView& view, const std::string& name) {
  return std::any_of(view.cluster_queues.begin(), view.cluster_queues.end(),
                     [&](const api::ClusterQueue& queue) { return IsShown(view, queue, name); }) ||
         std::any_of(view.local_queues.begin(), view.local_queues.end(),
                     [&](const api::LocalQueue& local) { return Feeds(local, name); });
}

std::string RenderStatus(const ClusterView& view, const StatusOptions& options,
                         const TextStyle& style) {
  std::string screen = RenderHead(view, style) + RenderQueues(view, options, style) +
                       RenderWaiting(view, options, style) +
                       RenderLackingPods(view, options, style) +
                       RenderRequests(view, options, style);
  if (options.cost) screen += RenderCost(view, options, style);
  if (options.only.empty()) screen += RenderPools(view, style);
  const std::vector<std::string> not_seen = NotSeen(view);
  if (!not_seen.empty()) screen += "\n" + Join(not_seen, "\n") + "\n";
  return screen;
}

nlohmann::json StatusJson(const ClusterView& view, const StatusOptions& options) {
  using Json = nlohmann::json;
  const auto seconds = [&](WallTime since) {
    return std::chrono::floor<std::chrono::seconds>(view.now - since).count();
  };
  Json out = {{"time", FormatTime(view.now)}, {"clusterQueues", Json::array()},
              {"waiting", Json::array()},     {"capacityRequests", Json::array()},
              {"nodePools", Json::array()},   {"podsRefused", Json::array()},
              {"hidden", view.hidden},        {"narrowed", view.narrowed}};
  if (!view.namespace_name.empty()) out["namespace"] = view.namespace_name;
  if (!IsKnown(view, "clusterqueues")) out["localQueues"] = LocalQueuesJson(view, options);
  const auto costs = options.cost ? CostByQueue(view) : std::map<std::string, QueueCost>{};
  const auto parent_of = [&view](const std::string& cohort) {
    for (const api::Cohort& each : view.cohorts) {
      if (each.meta.name == cohort) return each.spec.parent_name;
    }
    return std::string();
  };
  for (const auto& [name, use] : SumUse(view)) {
    if (!IsShown(view, *use.queue, options.only)) continue;
    out["clusterQueues"].push_back(
        QueueItem(use, ParentsOf(use.queue->spec.cohort_name, parent_of)));
    if (!options.cost) continue;
    const auto cost = costs.find(name);
    const QueueCost of_queue = cost == costs.end() ? QueueCost{} : cost->second;
    out["clusterQueues"].back()["cost"] = RunCostJson(of_queue.cost);
    out["clusterQueues"].back()["cost"]["withoutPrice"] = of_queue.unpriced;
  }
  const auto places = PlacesInQueues(view);
  for (const api::Workload* workload : InQueueOrder(view)) {
    if (!IsShown(view, *workload, options.only)) continue;
    const auto place = places.find(workload);
    Json item = WorkloadItem(view, *workload);
    item["position"] = place == places.end() ? Json() : Json(place->second.in_cluster_queue);
    item["waitSeconds"] = seconds(WaitingSince(*workload));
    if (const auto kept = view.kept_places.find(workload->meta.key());
        kept != view.kept_places.end()) {
      item["placeKeptFrom"] = FormatTime(kept->second.from);
    }
    out["waiting"].push_back(std::move(item));
  }
  for (const api::Workload* workload : LackingPods(view, options)) {
    out["podsRefused"].push_back(WorkloadItem(view, *workload));
  }
  for (const api::ProvisioningRequest& request : view.provisioning_requests) {
    out["capacityRequests"].push_back(CapacityRequestItem(request));
    out["capacityRequests"].back()["waitSeconds"] = seconds(request.meta.creation_timestamp);
  }
  for (const NodePoolView& pool : view.node_pools) {
    out["nodePools"].push_back({{"name", pool.name},
                                {"machineType", pool.machine_type},
                                {"nodes", pool.node_count},
                                {"maxNodes", pool.max_nodes ? Json(*pool.max_nodes) : Json()},
                                {"stock", pool.stock ? Json(*pool.stock) : Json()}});
  }
  return out;
}

}  // namespace berth::view

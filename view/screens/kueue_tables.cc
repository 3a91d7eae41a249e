#include "view/screens/kueue_tables.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "api/codec/json_write.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "view/screens/json_at.h"

namespace berth::view {
namespace {

using Json = nlohmann::json;

std::string NumberAt(const Json& object, const char* path) {
  const Json::json_pointer pointer(path);
  return object.contains(pointer) && object.at(pointer).is_number()
             ? api::FormatJson(object.at(pointer))
             : "0";
}

// The condition of the type, if its status is True; null otherwise.
Json TrueCondition(const Json& object, const char* type) {
  return HasTrueCondition(object, type) ? *ConditionAt(object, type) : Json();
}

std::string Since(const std::string& text, WallTime now) {
  const auto time = ParseTime(text);
  return time ? HumanDuration(now - *time) : "";
}

std::string AgeOf(const Json& object, WallTime now) {
  return Since(TextAt(object, "/metadata/creationTimestamp"), now);
}

const char* StatusOf(const Json& workload) {
  if (!TrueCondition(workload, "Finished").is_null()) return "finished";
  if (!TrueCondition(workload, "Admitted").is_null()) return "admitted";
  if (!TrueCondition(workload, "QuotaReserved").is_null()) return "quotareserved";
  return "pending";
}

std::string ExecutionTime(const Json& workload, WallTime now) {
  const Json admitted = TrueCondition(workload, "Admitted");
  if (admitted.is_null()) return {};
  const auto begun = ParseTime(TextAt(admitted, "/lastTransitionTime"));
  const Json finished = TrueCondition(workload, "Finished");
  const auto ended =
      finished.is_null() ? std::optional(now) : ParseTime(TextAt(finished, "/lastTransitionTime"));
  return begun && ended ? HumanDuration(*ended - *begun) : "";
}

std::string KeyOf(const Json& object) {
  return TextAt(object, "/metadata/namespace") + "/" + TextAt(object, "/metadata/name");
}

std::string ClusterQueueOf(const Json& workload, const KueueTable& table) {
  if (std::string admitted = TextAt(workload, "/status/admission/clusterQueue");
      !admitted.empty()) {
    return admitted;
  }
  const std::string wanted =
      TextAt(workload, "/metadata/namespace") + "/" + TextAt(workload, "/spec/queueName");
  for (const Json& queue : table.local_queues.value("items", Json::array())) {
    if (KeyOf(queue) == wanted) return TextAt(queue, "/spec/clusterQueue");
  }
  return {};
}

// "job.batch", "jobset.jobset.x-k8s.io".
std::string TypeOf(const Json& owner) {
  const std::string version = TextAt(owner, "/apiVersion");
  const std::size_t slash = version.find('/');
  std::string type = ToLower(TextAt(owner, "/kind"));
  if (slash != std::string::npos) type += "." + version.substr(0, slash);
  return type;
}

Json OwnersOf(const Json& workload) {
  const Json::json_pointer pointer("/metadata/ownerReferences");
  return workload.contains(pointer) ? workload.at(pointer) : Json::array();
}

// `wanted`: TYPE[.GROUP]/NAME, where a plural type counts as well.
bool IsOwner(const Json& owner, const std::string& wanted) {
  const std::size_t slash = wanted.find('/');
  if (slash == std::string::npos || wanted.substr(slash + 1) != TextAt(owner, "/name"))
    return false;
  const std::string asked = ToLower(wanted.substr(0, slash));
  const std::string type = TypeOf(owner);
  const std::size_t dot = type.find('.');
  const std::string kind = type.substr(0, dot);
  const std::string group = dot == std::string::npos ? "" : type.substr(dot);
  return asked == kind || asked == kind + "s" || asked == kind + group ||
         asked == kind + "s" + group;
}

bool Contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool PassesWorkload(const Json& workload, const KueueTable& table) {
  const KueueFilter& filter = table.filter;
  const auto& statuses = filter.statuses;
  if (!statuses.empty() && !Contains(statuses, "all") && !Contains(statuses, StatusOf(workload))) {
    // A workload with reserved quota is pending as well, as it is in kueuectl.
    const bool pending =
        StatusOf(workload) == std::string("quotareserved") && Contains(statuses, "pending");
    if (!pending) return false;
  }
  if (!filter.local_queue.empty() && TextAt(workload, "/spec/queueName") != filter.local_queue) {
    return false;
  }
  if (!filter.cluster_queue.empty() && ClusterQueueOf(workload, table) != filter.cluster_queue) {
    return false;
  }
  if (filter.owner.empty()) return true;
  const Json owners = OwnersOf(workload);
  return std::any_of(owners.begin(), owners.end(),
                     [&filter](const Json& owner) { return IsOwner(owner, filter.owner); });
}

bool PassesQueue(const Json& queue, const KueueFilter& filter) {
  if (!filter.cluster_queue.empty() &&
      TextAt(queue, "/spec/clusterQueue") != filter.cluster_queue) {
    return false;
  }
  const bool active = !TrueCondition(queue, "Active").is_null();
  return filter.active.empty() || Contains(filter.active, active ? "true" : "false");
}

// Adds the column of the namespace in front, where it is shown.
std::string Render(const KueueTable& table, std::vector<Column> columns,
                   const std::function<std::vector<std::string>(const Json&)>& cells,
                   const TextStyle& style) {
  if (table.with_namespace) columns.insert(columns.begin(), Column{"NAMESPACE"});
  TextTable text(std::move(columns));
  for (const Json& item : table.list.value("items", Json::array())) {
    std::vector<std::string> row = cells(item);
    if (table.with_namespace) row.insert(row.begin(), TextAt(item, "/metadata/namespace"));
    text.AddRow(std::move(row));
  }
  return text.empty() ? "No resources found\n" : text.Render(style);
}

}  // namespace

void AddPositions(const Json& summary, QueuePositions& positions) {
  for (const Json& item : summary.value("items", Json::array())) {
    positions[KeyOf(item)] = item.value("positionInLocalQueue", std::int64_t{0});
  }
}

void Filter(KueueTable& table, bool of_workloads) {
  Json kept = Json::array();
  for (Json& item : table.list["items"]) {
    const bool passes =
        of_workloads ? PassesWorkload(item, table) : PassesQueue(item, table.filter);
    if (passes) kept.push_back(std::move(item));
  }
  table.list["items"] = std::move(kept);
}

std::vector<std::string> WaitingQueues(const KueueTable& table) {
  std::set<std::string> queues;
  for (const Json& workload : table.list.value("items", Json::array())) {
    const std::string queue = TextAt(workload, "/spec/queueName");
    if (queue.empty() || StatusOf(workload) != std::string("pending")) continue;
    queues.insert(TextAt(workload, "/metadata/namespace") + "/" + queue);
  }
  return {queues.begin(), queues.end()};
}

std::string RenderWorkloads(const KueueTable& table, const TextStyle& style) {
  return Render(
      table,
      {{"NAME"},
       {"JOB TYPE"},
       {"JOB NAME"},
       {"LOCALQUEUE"},
       {"CLUSTERQUEUE"},
       {"STATUS"},
       {"POSITION IN QUEUE"},
       {"EXEC TIME"},
       {"AGE"}},
      [&table](const Json& workload) -> std::vector<std::string> {
        std::vector<std::string> types;
        std::vector<std::string> names;
        for (const Json& owner : OwnersOf(workload)) {
          types.push_back(TypeOf(owner));
          names.push_back(TextAt(owner, "/name"));
        }
        const auto position = table.positions.find(KeyOf(workload));
        std::string status = StatusOf(workload);
        std::transform(status.begin(), status.end(), status.begin(),
                       [](char c) { return static_cast<char>(c - 'a' + 'A'); });
        return {TextAt(workload, "/metadata/name"),
                Join(types, ", "),
                Join(names, ", "),
                TextAt(workload, "/spec/queueName"),
                ClusterQueueOf(workload, table),
                status,
                position == table.positions.end() ? "" : std::to_string(position->second),
                ExecutionTime(workload, table.now),
                AgeOf(workload, table.now)};
      },
      style);
}

std::string RenderLocalQueues(const KueueTable& table, const TextStyle& style) {
  return Render(
      table, {{"NAME"}, {"CLUSTERQUEUE"}, {"PENDING WORKLOADS"}, {"ADMITTED WORKLOADS"}, {"AGE"}},
      [&table](const Json& queue) -> std::vector<std::string> {
        return {TextAt(queue, "/metadata/name"), TextAt(queue, "/spec/clusterQueue"),
                NumberAt(queue, "/status/pendingWorkloads"),
                NumberAt(queue, "/status/admittedWorkloads"), AgeOf(queue, table.now)};
      },
      style);
}

std::string RenderClusterQueues(const KueueTable& table, const TextStyle& style) {
  return Render(
      table,
      {{"NAME"}, {"COHORT"}, {"PENDING WORKLOADS"}, {"ADMITTED WORKLOADS"}, {"ACTIVE"}, {"AGE"}},
      [&table](const Json& queue) -> std::vector<std::string> {
        return {TextAt(queue, "/metadata/name"),
                TextAt(queue, "/spec/cohortName"),
                NumberAt(queue, "/status/pendingWorkloads"),
                NumberAt(queue, "/status/admittedWorkloads"),
                TrueCondition(queue, "Active").is_null() ? "false" : "true",
                AgeOf(queue, table.now)};
      },
      style);
}

std::string RenderResourceFlavors(const KueueTable& table, const TextStyle& style) {
  return Render(
      table, {{"NAME"}, {"NODE LABELS"}, {"AGE"}},
      [&table](const Json& flavor) -> std::vector<std::string> {
        std::vector<std::string> labels;
        const Json::json_pointer pointer("/spec/nodeLabels");
        if (flavor.contains(pointer)) {
          for (const auto& [key, value] : flavor.at(pointer).items()) {
            labels.push_back(key + "=" + (value.is_string() ? value.get<std::string>() : ""));
          }
        }
        return {TextAt(flavor, "/metadata/name"), Join(labels, ", "), AgeOf(flavor, table.now)};
      },
      style);
}

}  // namespace berth::view

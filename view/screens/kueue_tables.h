// view/screens/kueue_tables.h — the tables of kueuectl's list commands, with its columns, from
// lists of objects as the API returns them.
//
// Threads: pure functions. Errors: none; a field of an unexpected type shows as empty.
// Source: Kueue cmd/kueuectl (list).
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "view/screens/text.h"

namespace berth::view {

// "namespace/name" of a Workload → its position in its LocalQueue.
using QueuePositions = std::map<std::string, std::int64_t>;
// Adds the positions of a PendingWorkloadsSummary.
void AddPositions(const nlohmann::json& summary, QueuePositions& positions);

struct KueueFilter {
  std::string cluster_queue;
  std::string local_queue;
  std::vector<std::string> statuses;  // pending, admitted, finished, quotareserved, all; none: all
  std::vector<std::string> active;    // "true", "false"; none: both
  std::string owner;                  // TYPE[.GROUP]/NAME of a Workload's owner
};

struct KueueTable {
  nlohmann::json list;  // a list with "items"
  WallTime now{};
  bool with_namespace = false;
  KueueFilter filter;
  nlohmann::json local_queues;  // a list: the ClusterQueues of Workloads without admission
  QueuePositions positions;
};

// Removes the items that the filter excludes. `of_workloads`: the items are Workloads.
void Filter(KueueTable& table, bool of_workloads);
// The LocalQueues ("namespace/name") of the Workloads that wait; each once.
std::vector<std::string> WaitingQueues(const KueueTable& table);

std::string RenderWorkloads(const KueueTable& table, const TextStyle& style);
std::string RenderLocalQueues(const KueueTable& table, const TextStyle& style);
std::string RenderClusterQueues(const KueueTable& table, const TextStyle& style);
std::string RenderResourceFlavors(const KueueTable& table, const TextStyle& style);

}  // namespace berth::view

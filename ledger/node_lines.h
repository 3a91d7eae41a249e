// ledger/node_lines.h — the lines of a report to which the time of nodes is charged.
//
// A node belongs to the line of its Workload's latest attempt, else to the line of its queue or
// namespace, else to the line without a key. By pool, a node belongs to the line of its pool.
//
// Threads: one. Errors: none.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ledger/accounts.h"
#include "ledger/records.h"

namespace berth::ledger {

class NodeLines {
 public:
  // Keeps the nodes that stood in the period: none by cause and by preemptor. `label` is that of
  // MakeReport().
  NodeLines(const std::vector<NodeTimeRecord>& nodes, ReportBy by, std::string label,
            const Period& period);

  // The attempts of a Workload must come in the order of their numbers.
  void Add(const AttemptRecord& attempt);
  // Whether nodes stood for the Workload: their price replaces that of its reservation.
  bool IsMeasured(const std::string& workload_uid) const { return keys_.contains(workload_uid); }

  const std::vector<NodeTimeRecord>& nodes() const { return nodes_; }
  // The key of the node's line. Call after all attempts.
  std::string LineOf(const NodeTimeRecord& node) const;

 private:
  const ReportBy by_;
  const std::string label_;
  std::vector<NodeTimeRecord> nodes_;
  // The uids of the nodes' Workloads, with the key of the latest attempt; nullopt: none is known.
  std::map<std::string, std::optional<std::string>> keys_;
};

// Adds `time` of the node, and that time × its GPUs, to ReportLine::charged_hours or
// ReportPart::charged_hours.
void AddNodeHours(const NodeTimeRecord& node, Seconds time,
                  std::map<std::string, double>& charged_hours);

}  // namespace berth::ledger

#include "ledger/node_lines.h"

#include <utility>

#include "ledger/report_keys.h"

namespace berth::ledger {

NodeLines::NodeLines(const std::vector<NodeTimeRecord>& nodes, ReportBy by, std::string label,
                     const Period& period)
    : by_(by), label_(std::move(label)) {
  if (by_ == ReportBy::kCause || by_ == ReportBy::kPreemptor) return;
  for (const NodeTimeRecord& node : nodes) {
    if (Inside(period, node.from, node.until) == 0) continue;
    nodes_.push_back(node);
    if (!node.workload_uid.empty()) keys_.try_emplace(node.workload_uid);
  }
}

void NodeLines::Add(const AttemptRecord& attempt) {
  const auto known = keys_.find(attempt.uid);
  if (known != keys_.end()) known->second = KeyOf(attempt, by_, label_);
}

std::string NodeLines::LineOf(const NodeTimeRecord& node) const {
  if (by_ == ReportBy::kPool) return node.pool;
  const auto known = keys_.find(node.workload_uid);
  return known == keys_.end() || !known->second ? KeyOf(node, by_) : *known->second;
}

void AddNodeHours(const NodeTimeRecord& node, Seconds time,
                  std::map<std::string, double>& charged_hours) {
  charged_hours[kNodes] += ResourceHours(kNodes, 1, time);
  if (node.gpus > 0) {
    charged_hours[api::kGpusResource] += ResourceHours(kNodes, node.gpus, time);
  }
}

}  // namespace berth::ledger

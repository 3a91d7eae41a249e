// ledger/report_history.h — a report over time: the figures of accounts.h for each part of a
// period.
//
// The parts of a line add up to its figures in the report of the whole period. What an attempt
// destroyed counts in the parts in which the attempt ran.
//
// Threads: a StreamedReportHistory belongs to one. Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ledger/accounts.h"
#include "ledger/node_lines.h"
#include "ledger/records.h"

namespace berth::ledger {

struct ReportPart {
  Seconds waited = 0;
  std::map<std::string, double> used_hours;       // resource → hours
  std::map<std::string, double> destroyed_hours;  // resource → hours
  std::map<std::string, double> charged_hours;    // kNodes, api::kGpusResource → hours
  std::int64_t cost_nano = 0;                     // billionths of USD, but for roundings
  friend bool operator==(const ReportPart&, const ReportPart&) = default;
};

struct ReportHistoryLine {
  std::string key;  // ReportLine::key
  std::vector<ReportPart> parts;
  friend bool operator==(const ReportHistoryLine&, const ReportHistoryLine&) = default;
};

struct ReportHistory {
  std::vector<Period> times;
  std::vector<ReportHistoryLine> lines;  // the largest first
  std::vector<ReportPart> others;        // the sums of further lines; empty: there are none
  std::int64_t other_lines = 0;
};

class StreamedReportHistory {
 public:
  // The period is divided as by Divided(). `by` and `label` are those of StreamedReport, without
  // kCause and kPreemptor.
  StreamedReportHistory(const std::vector<NodeTimeRecord>& nodes, ReportBy by, std::string label,
                        const Period& period, std::int64_t parts);

  void Add(const AttemptRecord& attempt);  // the order is that of StreamedReport::Add
  // Call once, after all attempts. At most `most_lines` lines: those that used the most GPU hours,
  // then those that used the most CPU hours, then those with the most hours of nodes and waits.
  ReportHistory Take(std::size_t most_lines);

 private:
  using Parts = std::vector<ReportPart>;
  void AddNode(const NodeTimeRecord& node);
  // Calls `add` with each part that has a time of [from, to], and with this time.
  template <typename AddTime>
  void ForEachPart(const std::string& key, Seconds from, Seconds to, const AddTime& add);

  const ReportBy by_;
  const std::string label_;
  const Period period_;
  const std::vector<Period> times_;
  NodeLines nodes_;
  std::map<std::string, Parts> lines_;
};

}  // namespace berth::ledger

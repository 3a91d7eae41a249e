// view/screens/history_screen.h — the records of the ledger, as tables, JSON and CSV. Pure.
//
// Source: ledger/accounts.h for the meaning of the figures.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/clock.h"
#include "ledger/accounts.h"
#include "ledger/capacity_history.h"
#include "ledger/queue_history.h"
#include "ledger/records.h"
#include "ledger/report_history.h"
#include "ledger/state_history.h"
#include "view/screens/text.h"

namespace berth::view {

struct HistoryView {
  std::vector<ledger::AttemptRecord> attempts;
  std::vector<ledger::CapacityRecord> requests;
  std::vector<ledger::NodeTimeRecord> nodes;
  std::map<std::string, std::string> preemptors;  // uid → namespace/name, where known
  WallTime now{};
};

std::string RenderHistory(const HistoryView& view, const TextStyle& style);
nlohmann::json HistoryJson(const HistoryView& view);

// `heading` is the heading of the first column, such as "QUEUE". If numbers of GPUs are known,
// shares of GPUs are left out.
TextTable ReportTable(const std::vector<ledger::ReportLine>& lines, const std::string& heading);
std::string RenderReport(const std::vector<ledger::ReportLine>& lines, const std::string& heading,
                         const TextStyle& style);
nlohmann::json ReportJson(const std::vector<ledger::ReportLine>& lines,
                          const ledger::Period& period, const std::string& by);
nlohmann::json ReportHistoryJson(const ledger::ReportHistory& history, const std::string& by);
nlohmann::json QueueHistoryJson(const std::string& queue,
                                const std::vector<ledger::HistoryPart>& parts);
// `times`: the parts, which all histories have. Queues that used nothing are
// left out.
nlohmann::json CohortHistoryJson(
    const std::string& cohort, const std::vector<ledger::Period>& times,
    const std::map<std::string, std::vector<ledger::HistoryPart>>& parts_by_queue);
// Causes of waits are those of CauseOf(). `quotas`: of all queues at the end of each part, by
// resource.
nlohmann::json WorkloadStatesJson(const ledger::StreamedStates& states,
                                  const std::vector<std::map<std::string, api::Amount>>& quotas);
// `prices`: in the order of flavors and times. The prices that held in the period are shown.
nlohmann::json CapacityHistoryJson(const ledger::CapacityHistory& history,
                                   const std::vector<ledger::PriceRecord>& prices,
                                   const ledger::Period& period);
// RFC 4180, with a heading; a key that a spreadsheet would take for a formula begins with "'". Each
// resource has three columns; the columns of nodes, costs and stops follow.
std::string ReportCsv(const std::vector<ledger::ReportLine>& lines, const std::string& by);

}  // namespace berth::view

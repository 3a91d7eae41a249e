#include "view/screens/simulation_tables.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "api/gpu_shares.h"
#include "api/labels.h"
#include "base/rfc3339.h"

namespace berth::view {
namespace {

using simulation::Figures;
using simulation::PoolRow;
using simulation::QuotaRow;
using simulation::ReportRow;

constexpr double kSecondsPerHour = 3600;

// Whether a table shows figures of a run, or what another run changes of them.
enum class Kind { kFigures, kDifferences };

// The value has `digits` digits after the point.
std::string Fixed(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }

bool IsGpu(const std::string& resource) {
  return resource == api::kGpusResource || api::IsGpuResource(resource);
}

std::string Signed(const std::string& text, double value, Kind kind) {
  return kind == Kind::kDifferences && value > 0 ? "+" + text : text;
}

std::string CountText(double value, Kind kind) { return Signed(Fixed(value, 0), value, kind); }

std::string DecimalText(double value, Kind kind) {
  const double rounded = std::round(value * 10) / 10;
  return Signed(Fixed(rounded == 0 ? 0.0 : rounded, 1), rounded, kind);
}

std::string DollarText(double value, Kind kind) {
  const double rounded = std::round(value * 100) / 100;
  return Signed(Fixed(rounded == 0 ? 0.0 : rounded, 2), rounded, kind);
}

std::string SpanText(double seconds, Kind kind) {
  const std::string span = SpanOf(seconds);
  return seconds < 0 || span == "0s" ? span : Signed("", seconds, kind) + span;
}

// Which columns a table has at its end.
struct EndColumns {
  bool charged = false;  // jobs are charged for nodes
  bool cost = false;     // something has a price
};

std::vector<std::string> CellsOf(const ReportRow& row, const std::string& resource,
                                 EndColumns columns, Kind kind) {
  const Figures& figures = row.figures;
  std::vector<std::string> cells = RowNames(row.local_queue, row.priority_class);
  for (std::string cell :
       {CountText(figures.jobs, kind), CountText(figures.finished, kind),
        CountText(figures.unfinished, kind), SpanText(figures.wait_mean, kind),
        SpanText(figures.wait_p50, kind), SpanText(figures.wait_p90, kind),
        SpanText(figures.wait_p99, kind), DecimalText(figures.slowdown, kind),
        CountText(figures.preemptions, kind), CountText(figures.evictions, kind),
        CountText(figures.failed, kind), DecimalText(HoursOf(figures.used, resource), kind),
        DecimalText(HoursOf(figures.destroyed, resource), kind),
        DecimalText(HoursOf(figures.utilisation, resource) * kPercent, kind) + " %"}) {
    cells.push_back(std::move(cell));
  }
  if (columns.charged) cells.push_back(DecimalText(HoursOf(figures.charged, resource), kind));
  if (columns.cost) cells.push_back(DollarText(figures.cost, kind));
  return cells;
}

TextTable QueueTable(const std::vector<ReportRow>& rows, const ReportRow& total,
                     const std::string& resource, bool has_pools, Kind kind) {
  const EndColumns last{.charged = has_pools, .cost = has_pools || total.figures.cost != 0};
  const std::string hours = HoursName(resource);
  std::vector<Column> columns = MeasureColumns();
  columns.push_back({hours + " USED", Align::kRight});
  columns.push_back({hours + " LOST", Align::kRight});
  columns.push_back({"OF QUOTA", Align::kRight});
  if (last.charged) columns.push_back({hours + " CHARGED", Align::kRight});
  if (last.cost) columns.push_back({"USD", Align::kRight});
  TextTable table(std::move(columns));
  for (const ReportRow& row : rows) table.AddRow(CellsOf(row, resource, last, kind));
  table.AddRow(CellsOf(total, resource, last, kind));
  return table;
}

TextTable QuotaTable(const std::vector<QuotaRow>& rows, Kind kind) {
  TextTable table({{"CLUSTERQUEUE"},
                   {"RESOURCE"},
                   {"NOMINAL", Align::kRight},
                   {"UNIT-HOURS", Align::kRight},
                   {"UTILISATION", Align::kRight}});
  for (const QuotaRow& row : rows) {
    table.AddRow({row.cluster_queue, row.resource, DecimalText(row.nominal, kind),
                  DecimalText(row.used, kind),
                  DecimalText(row.utilisation * kPercent, kind) + " %"});
  }
  return table;
}

TextTable PoolTable(const std::vector<PoolRow>& rows, Kind kind) {
  TextTable table({{"POOL"},
                   {"PEAK NODES", Align::kRight},
                   {"NODE-HOURS", Align::kRight},
                   {"BUSY", Align::kRight},
                   {"USD", Align::kRight}});
  for (const PoolRow& row : rows) {
    table.AddRow({row.pool, CountText(row.peak, kind), DecimalText(row.node_hours, kind),
                  DecimalText(row.busy * kPercent, kind) + " %", DollarText(row.cost, kind)});
  }
  return table;
}

// Tables that have rows.
std::vector<NamedTable> Tables(const std::vector<ReportRow>& rows, const ReportRow& total,
                               const std::vector<QuotaRow>& quota,
                               const std::vector<PoolRow>& pools, Kind kind) {
  std::vector<NamedTable> tables;
  tables.push_back({"Queues and classes",
                    QueueTable(rows, total, MainResource(total.figures), !pools.empty(), kind)});
  tables.push_back({"Quota", QuotaTable(quota, kind)});
  if (!pools.empty()) tables.push_back({"Node pools", PoolTable(pools, kind)});
  return tables;
}

}  // namespace

std::string SpanOf(double seconds) {
  const auto span = std::chrono::seconds(std::llround(std::abs(seconds)));
  if (span.count() == 0) return "0s";
  return (seconds < 0 ? "-" : "") + HumanDuration(span);
}

std::vector<Column> MeasureColumns() {
  return {{"QUEUE"},
          {"CLASS"},
          {"JOBS", Align::kRight},
          {"FINISHED", Align::kRight},
          {"UNFINISHED", Align::kRight},
          {"WAIT MEAN", Align::kRight},
          {"P50", Align::kRight},
          {"P90", Align::kRight},
          {"P99", Align::kRight},
          {"SLOWDOWN", Align::kRight},
          {"PREEMPTED", Align::kRight},
          {"EVICTED", Align::kRight},
          {"FAILED", Align::kRight}};
}

std::vector<std::string> RowNames(const std::string& local_queue,
                                  const std::string& priority_class) {
  if (local_queue.empty()) return {"all", ""};
  return {local_queue, priority_class.empty() ? "-" : priority_class};
}

std::string HoursName(const std::string& resource) { return IsGpu(resource) ? "GPU-H" : "CPU-H"; }

std::string Shortest(double value) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

double HoursOf(const simulation::UnitHours& hours, const std::string& resource) {
  const auto found = hours.find(resource);
  return found == hours.end() ? 0 : found->second;
}

std::string MainResource(const Figures& total) {
  for (const auto* hours : {&total.used, &total.destroyed}) {
    for (const auto& [resource, amount] : *hours) {
      if (IsGpu(resource)) return resource;
    }
  }
  return "cpu";
}

std::vector<NamedTable> SimulationTables(const simulation::Report& report) {
  return Tables(report.rows, report.total, report.quota, report.pools, Kind::kFigures);
}

std::vector<NamedTable> ComparisonTables(const simulation::Comparison& difference) {
  return Tables(difference.rows, difference.total, difference.quota, difference.pools,
                Kind::kDifferences);
}

std::string SimulationRemarks(const SimulationView& view) {
  std::string text;
  if (view.skipped > 0) {
    text += std::to_string(view.skipped) + " rows without run time or processors were skipped\n";
  }
  for (const std::string& note : view.notes) text += "left out: " + note + "\n";
  if (view.report.stopped_early) {
    text += "stopped early: jobs preempt one another without end\n";
  }
  for (const simulation::UnfinishedRow& row : view.report.unfinished) {
    text += "never finished: " + std::to_string(row.jobs) + " of " + row.local_queue + ", first " +
            (view.unit == simulation::TraceUnit::kJob ? "is job " : "in line ") +
            std::to_string(row.first_line) + ": " + row.why + "\n";
  }
  return text;
}

std::string SimulationHeadLine(const SimulationView& view) {
  const Figures& all = view.report.total.figures;
  return Fixed(all.jobs, 0) + " jobs in " +
         SpanText(view.report.hours * kSecondsPerHour, Kind::kFigures) +
         " of virtual time: " + Fixed(all.finished, 0) + " finished, " + Fixed(all.unfinished, 0) +
         " did not\n";
}

}  // namespace berth::view

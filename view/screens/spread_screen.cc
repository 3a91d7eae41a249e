#include "view/screens/spread_screen.h"

#include <array>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "view/screens/simulation_tables.h"

namespace berth::view {
namespace {

using simulation::Measure;
using simulation::Measures;
using simulation::Spread;
using simulation::SpreadReport;
using simulation::SpreadRow;

constexpr double kHundred = 100;

bool IsWait(const Measure& measure) { return std::string_view(measure.name).starts_with("wait"); }

std::string NumberOf(double value) {
  const double rounded = std::round(value * 10) / 10;
  return fmt::format("{:.1f}", rounded == 0 ? 0.0 : rounded);
}

// "+12m ±3m"
std::string SpreadCell(const Spread& spread, bool is_wait, SpreadKind kind,
                       const TextStyle& style) {
  const std::string sign = kind == SpreadKind::kDifferences && spread.mean > 0 ? "+" : "";
  const char* between = style.ascii ? " +-" : " ±";
  if (is_wait) return sign + SpanOf(spread.mean) + between + SpanOf(spread.deviation);
  return sign + NumberOf(spread.mean) + between + NumberOf(spread.deviation);
}

Spread ScaledBy(const Spread& spread, double factor) {
  return {.mean = spread.mean * factor,
          .deviation = spread.deviation * factor,
          .least = spread.least * factor,
          .most = spread.most * factor};
}

Spread SpreadFor(const simulation::SpreadByResource& spreads, const std::string& resource) {
  const auto found = spreads.find(resource);
  return found == spreads.end() ? Spread{} : found->second;
}

// GPUs where some job uses one, else CPUs.
std::string MainResourceOf(const SpreadRow& total) {
  simulation::Figures names;
  for (const auto& [resource, spread] : total.used) names.used[resource] = 1;
  for (const auto& [resource, spread] : total.destroyed) names.destroyed[resource] = 1;
  return MainResource(names);
}

std::vector<std::string> CellsOfSpread(const SpreadRow& row, const std::string& resource,
                                       SpreadKind kind, const TextStyle& style) {
  std::vector<std::string> cells = RowNames(row.local_queue, row.priority_class);
  for (std::size_t i = 0; i < row.measures.size(); ++i) {
    cells.push_back(SpreadCell(row.measures[i], IsWait(Measures()[i]), kind, style));
  }
  for (const Spread& spread : {SpreadFor(row.used, resource), SpreadFor(row.destroyed, resource),
                               SpreadFor(row.charged, resource),
                               ScaledBy(SpreadFor(row.utilisation, resource), kHundred)}) {
    cells.push_back(SpreadCell(spread, false, kind, style));
  }
  return cells;
}

nlohmann::json SpreadValueJson(const Spread& spread) {
  return {{"mean", spread.mean},
          {"deviation", spread.deviation},
          {"least", spread.least},
          {"most", spread.most}};
}

// The figures by resource, with their names in JSON and CSV.
struct NamedSpreads {
  const char* name;
  const simulation::SpreadByResource* spreads;
};
std::array<NamedSpreads, 4> SpreadsByResource(const SpreadRow& row) {
  return {{{"usedHours", &row.used},
           {"destroyedHours", &row.destroyed},
           {"chargedHours", &row.charged},
           {"utilisation", &row.utilisation}}};
}

nlohmann::json SpreadRowJson(const SpreadRow& row) {
  nlohmann::json json = nlohmann::json::object();
  if (!row.local_queue.empty()) {
    json = {{"localQueue", row.local_queue}, {"priorityClass", row.priority_class}};
  }
  for (std::size_t i = 0; i < row.measures.size(); ++i) {
    json[Measures()[i].name] = SpreadValueJson(row.measures[i]);
  }
  for (const auto& [name, spreads] : SpreadsByResource(row)) {
    nlohmann::json& fields = json[name] = nlohmann::json::object();
    for (const auto& [resource, spread] : *spreads) fields[resource] = SpreadValueJson(spread);
  }
  return json;
}

// `figure`: "jobs", or "usedHours:nvidia.com/gpu".
std::string SpreadCsvLine(const SpreadRow& row, const std::string& figure, const Spread& spread) {
  return row.local_queue + "," + row.priority_class + "," + figure + "," + Shortest(spread.mean) +
         "," + Shortest(spread.deviation) + "," + Shortest(spread.least) + "," +
         Shortest(spread.most) + "\n";
}

void AddCsvLines(const SpreadRow& row, std::string& text) {
  for (std::size_t i = 0; i < row.measures.size(); ++i) {
    text += SpreadCsvLine(row, Measures()[i].name, row.measures[i]);
  }
  for (const auto& [name, spreads] : SpreadsByResource(row)) {
    for (const auto& [resource, spread] : *spreads) {
      text += SpreadCsvLine(row, std::string(name) + ":" + resource, spread);
    }
  }
}

}  // namespace

std::string RenderSpread(const SpreadReport& report, SpreadKind kind, const TextStyle& style) {
  std::vector<Column> columns = MeasureColumns();
  const std::string resource = MainResourceOf(report.total);
  const std::string hours = HoursName(resource);
  columns.push_back({"USD", Align::kRight});
  for (const char* each : {" USED", " LOST", " CHARGED"}) {
    columns.push_back({hours + each, Align::kRight});
  }
  columns.push_back({"OF QUOTA %", Align::kRight});
  TextTable table(std::move(columns));
  for (const SpreadRow& row : report.rows) {
    table.AddRow(CellsOfSpread(row, resource, kind, style));
  }
  table.AddRow(CellsOfSpread(report.total, resource, kind, style));
  std::string text = std::to_string(report.runs) + " runs, means and standard deviations" +
                     (kind == SpreadKind::kDifferences ? " of after less before" : "") + "\n\n" +
                     table.Render(style);
  if (report.pools.empty()) return text;
  TextTable pools({{"POOL"},
                   {"PEAK NODES", Align::kRight},
                   {"NODE-HOURS", Align::kRight},
                   {"BUSY %", Align::kRight},
                   {"USD", Align::kRight}});
  for (const simulation::SpreadPool& pool : report.pools) {
    const Spread busy = ScaledBy(pool.busy, kHundred);
    pools.AddRow({pool.pool, SpreadCell(pool.peak, false, kind, style),
                  SpreadCell(pool.node_hours, false, kind, style),
                  SpreadCell(busy, false, kind, style), SpreadCell(pool.cost, false, kind, style)});
  }
  return text + "\n" + pools.Render(style);
}

nlohmann::json SpreadJson(const SpreadReport& report) {
  nlohmann::json queues = nlohmann::json::array();
  for (const SpreadRow& row : report.rows) queues.push_back(SpreadRowJson(row));
  nlohmann::json pools = nlohmann::json::array();
  for (const simulation::SpreadPool& pool : report.pools) {
    pools.push_back({{"pool", pool.pool},
                     {"peakNodes", SpreadValueJson(pool.peak)},
                     {"nodeHours", SpreadValueJson(pool.node_hours)},
                     {"busy", SpreadValueJson(pool.busy)},
                     {"cost", SpreadValueJson(pool.cost)}});
  }
  return {{"runs", report.runs},
          {"queues", std::move(queues)},
          {"total", SpreadRowJson(report.total)},
          {"pools", std::move(pools)}};
}

std::string SpreadCsv(const SpreadReport& report) {
  std::string text = "localQueue,priorityClass,figure,mean,deviation,least,most\n";
  for (const SpreadRow& row : report.rows) AddCsvLines(row, text);
  AddCsvLines(report.total, text);
  return text;
}

}  // namespace berth::view

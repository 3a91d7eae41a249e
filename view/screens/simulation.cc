#include "view/screens/simulation.h"

#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "view/screens/simulation_tables.h"

namespace berth::view {
namespace {

using Json = nlohmann::json;
using simulation::Comparison;
using simulation::Figures;
using simulation::Measure;
using simulation::PoolRow;
using simulation::QuotaRow;
using simulation::Report;
using simulation::ReportRow;

Json NumberJson(double value) {
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  return whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

Json HoursJson(const simulation::UnitHours& hours) {
  Json fields = Json::object();
  for (const auto& [resource, amount] : hours) fields[resource] = NumberJson(amount);
  return fields;
}

Json RowJson(const ReportRow& row) {
  Json fields = Json::object();
  if (!row.local_queue.empty()) {
    fields = {{"localQueue", row.local_queue},
              {"clusterQueue", row.cluster_queue},
              {"priorityClass", row.priority_class}};
  }
  for (const Measure& measure : simulation::Measures()) {
    fields[measure.name] = NumberJson(row.figures.*measure.value);
  }
  fields["usedHours"] = HoursJson(row.figures.used);
  fields["destroyedHours"] = HoursJson(row.figures.destroyed);
  fields["chargedHours"] = HoursJson(row.figures.charged);
  fields["utilisation"] = HoursJson(row.figures.utilisation);
  return fields;
}

Json TablesJson(const std::vector<ReportRow>& rows, const ReportRow& total,
                const std::vector<QuotaRow>& quota, const std::vector<PoolRow>& pools) {
  Json queues = Json::array();
  for (const ReportRow& row : rows) queues.push_back(RowJson(row));
  Json quotas = Json::array();
  for (const QuotaRow& row : quota) {
    quotas.push_back({{"clusterQueue", row.cluster_queue},
                      {"resource", row.resource},
                      {"nominal", NumberJson(row.nominal)},
                      {"usedHours", NumberJson(row.used)},
                      {"utilisation", NumberJson(row.utilisation)}});
  }
  Json nodes = Json::array();
  for (const PoolRow& row : pools) {
    nodes.push_back({{"pool", row.pool},
                     {"peakNodes", NumberJson(row.peak)},
                     {"nodeHours", NumberJson(row.node_hours)},
                     {"bootHours", NumberJson(row.boot_hours)},
                     {"busy", NumberJson(row.busy)},
                     {"cost", NumberJson(row.cost)}});
  }
  return {{"queues", queues}, {"total", RowJson(total)}, {"quota", quotas}, {"pools", nodes}};
}

std::string CsvLine(const ReportRow& row, const std::string& resource) {
  std::string line = row.local_queue + "," + row.cluster_queue + "," + row.priority_class;
  for (const Measure& measure : simulation::Measures()) {
    line += "," + Shortest(row.figures.*measure.value);
  }
  return line + "," + resource + "," + Shortest(HoursOf(row.figures.used, resource)) + "," +
         Shortest(HoursOf(row.figures.destroyed, resource)) + "," +
         Shortest(HoursOf(row.figures.charged, resource)) + "," +
         Shortest(HoursOf(row.figures.utilisation, resource)) + "\n";
}

std::string Csv(const std::vector<ReportRow>& rows, const ReportRow& total,
                const std::string& resource) {
  std::string text = "localQueue,clusterQueue,priorityClass";
  for (const Measure& measure : simulation::Measures()) text += std::string(",") + measure.name;
  text += ",resource,usedHours,destroyedHours,chargedHours,utilisation\n";
  for (const ReportRow& row : rows) text += CsvLine(row, resource);
  return text + CsvLine(total, resource);
}

}  // namespace

std::string RenderSimulation(const SimulationView& view, const TextStyle& style) {
  std::string text = SimulationHeadLine(view);
  for (const NamedTable& each : SimulationTables(view.report)) {
    text += "\n" + each.table.Render(style);
  }
  const std::string remarks = SimulationRemarks(view);
  return remarks.empty() ? text : text + "\n" + remarks;
}

Json SimulationJson(const SimulationView& view) {
  const Report& report = view.report;
  Json fields = TablesJson(report.rows, report.total, report.quota, report.pools);
  Json unfinished = Json::array();
  for (const simulation::UnfinishedRow& row : report.unfinished) {
    unfinished.push_back({{"localQueue", row.local_queue},
                          {"jobs", row.jobs},
                          {"firstLine", row.first_line},
                          {"why", row.why}});
  }
  fields["unfinished"] = unfinished;
  fields["hours"] = NumberJson(report.hours);
  fields["cycles"] = report.cycles;
  fields["decisions"] = report.decisions;
  fields["stoppedEarly"] = report.stopped_early;
  fields["skippedRows"] = view.skipped;
  fields["workloadUnit"] = ToString(view.unit);
  fields["leftOut"] = view.notes;
  return fields;
}

std::string SimulationCsv(const SimulationView& view) {
  const Report& report = view.report;
  return Csv(report.rows, report.total, MainResource(report.total.figures));
}

std::string RenderComparison(const SimulationView& before, const SimulationView& after,
                             const TextStyle& style) {
  const Comparison difference = Compare(before.report, after.report);
  std::string text =
      "before: " + SimulationHeadLine(before) + "after:  " + SimulationHeadLine(after);
  std::string lead = "\nafter less before:\n";
  for (const NamedTable& each : ComparisonTables(difference)) {
    text += std::exchange(lead, "\n") + each.table.Render(style);
  }
  for (const auto& [name, view] : {std::pair("before", &before), std::pair("after", &after)}) {
    const std::string remarks = SimulationRemarks(*view);
    if (!remarks.empty()) text += "\n" + std::string(name) + ":\n" + remarks;
  }
  return text;
}

Json ComparisonJson(const SimulationView& before, const SimulationView& after) {
  const Comparison difference = Compare(before.report, after.report);
  return {{"before", SimulationJson(before)},
          {"after", SimulationJson(after)},
          {"difference",
           TablesJson(difference.rows, difference.total, difference.quota, difference.pools)}};
}

std::string ComparisonCsv(const SimulationView& before, const SimulationView& after) {
  const Comparison difference = Compare(before.report, after.report);
  return Csv(difference.rows, difference.total, MainResource(difference.total.figures));
}

}  // namespace berth::view

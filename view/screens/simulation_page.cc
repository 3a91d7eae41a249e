#include "view/screens/simulation_page.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/rfc3339.h"
#include "base/strings.h"
#include "view/screens/simulation_tables.h"
#include "view/screens/svg_charts.h"

namespace berth::view {
namespace {

using simulation::Figures;

constexpr char kHead[] = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>
<title>berth simulate</title>
<style>
:root { color-scheme: light dark;
  --page: #ffffff; --text: #1c2330; --soft: #5b6472; --grid: #e3e7ed; --panel: #f5f7fa;
  --c0: #2563c9; --c1: #c8601a; --c2: #1f8a5f; --c3: #a83f86; --c4: #7a6316; --c5: #2b8aa8;
  --c6: #6f55bd; --c7: #b03a3a; --others: #8a93a0; }
@media (prefers-color-scheme: dark) { :root {
  --page: #12161d; --text: #e8ecf2; --soft: #9ba5b4; --grid: #2b323d; --panel: #1a2029;
  --c0: #6ea3f5; --c1: #f0995a; --c2: #5cc79b; --c3: #df86c1; --c4: #cdb354; --c5: #6cc3dd;
  --c6: #ab97ec; --c7: #ee8383; --others: #8892a0; } }
body { background: var(--page); color: var(--text); margin: 0 auto; padding: 1.5rem 1rem 3rem;
  max-width: 72rem; font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .2rem; } p { margin: .2rem 0; }
.soft, .legend, .remarks { color: var(--soft); } .remarks { white-space: pre-line; }
.tiles { display: flex; flex-wrap: wrap; gap: .6rem; margin: .8rem 0; }
.tile { background: var(--panel); border-radius: 6px; padding: .5rem .8rem; min-width: 6rem; }
.tile b { display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums; }
.runs { display: grid; gap: 1rem 2rem; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 60rem) { .two { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .2rem .7rem .2rem 0; text-align: left; border-bottom: 1px solid var(--grid);
  white-space: nowrap; }
th { color: var(--soft); font-weight: 600; } .right { text-align: right; }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--soft); font-size: 11px; }
.grid { stroke: var(--grid); stroke-width: 1; } .line { fill: none; stroke-width: 1.6; }
.area { opacity: .22; stroke: none; } .stack { stroke: var(--page); stroke-width: .6; }
.hit { fill: transparent; } .hit:hover { fill: var(--text); fill-opacity: .08; }
.there { fill: var(--panel); } .boot { fill: var(--grid); } .cut { opacity: .45; }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin: 0 .35em 0 .9em; }
)";

constexpr char kPrint[] = R"(@media print { :root { color-scheme: light; }
  body { max-width: none; padding: 0; font-size: 11px; } section, svg, tr { break-inside: avoid; }
  .tile, .there { border: 1px solid var(--grid); } }
</style>
</head>
<body>
)";

// Rules of the classes c0 to c7 and others: areas and bars by fill, lines by stroke, keys by
// background.
std::string ColorRules() {
  std::string rules;
  for (const char* name : {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "others"}) {
    rules += fmt::format(
        ".area.{0}, .stack.{0}, .bar.{0} {{ fill: var(--{0}); }} .line.{0} {{ stroke: var(--{0}); "
        "}} "
        ".key.{0} {{ background: var(--{0}); }}\n",
        name);
  }
  return rules;
}

std::string SpanText(double seconds) {
  return HumanDuration(std::chrono::seconds(std::llround(seconds)));
}

std::string Tile(const std::string& value, const std::string& name) {
  return "<div class=\"tile\"><b>" + HtmlText(value) + "</b>" + HtmlText(name) + "</div>\n";
}

std::string TablesHtml(const std::vector<NamedTable>& tables) {
  std::string text;
  for (const NamedTable& each : tables) {
    text += "<h3>" + HtmlText(each.title) + "</h3>\n" + TableHtml(each.table);
  }
  return text;
}

// Scales that the charts of all runs share.
struct Scales {
  Duration end{};
  double waiting = 0;
  double units = 0;
};

double Nominal(const SimulationPictures& run) {
  double sum = 0;
  for (const simulation::QuotaRow& row : run.view.report.quota) {
    if (row.resource == run.resource) sum += row.nominal;
  }
  return sum;
}

void Widen(const SimulationPictures& run, Scales& scales) {
  scales.end = std::max(scales.end, run.timeline.end);
  scales.waiting = std::max(scales.waiting, Greatest(run.timeline.waiting));
  scales.units = std::max(
      {scales.units, Greatest(run.timeline.in_use), Greatest(run.timeline.of_nodes), Nominal(run)});
}

// Stretches the series of a shorter run to the common axis: nothing waits or runs after its end.
std::vector<double> OnAxis(const std::vector<double>& values, Duration end, Duration axis) {
  if (end >= axis || values.empty()) return values;
  std::vector<double> result(values.size());
  const double ratio = static_cast<double>(axis.count()) / static_cast<double>(end.count() + 1);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double at = (static_cast<double>(i) + 0.5) * ratio;
    if (at < static_cast<double>(values.size())) result[i] = values[static_cast<std::size_t>(at)];
  }
  return result;
}

std::string Tiles(const SimulationPictures& run) {
  const Figures& all = run.view.report.total.figures;
  const double used = HoursOf(all.used, run.resource);
  const double lost = HoursOf(all.destroyed, run.resource);
  double there = 0;  // unit-hours of nodes, else of quota
  for (const double value : run.timeline.of_nodes) there += value;
  const double hours = run.view.report.hours;
  const bool has_nodes = !run.timeline.of_nodes.empty();
  there = has_nodes ? there / static_cast<double>(run.timeline.of_nodes.size()) * hours
                    : Nominal(run) * hours;
  const double share = there > 0 ? (used + lost) / there * 100 : 0;
  std::string text = "<div class=\"tiles\">\n";
  text += Tile(fmt::format("{:.0f}", all.jobs), "jobs");
  text += Tile(fmt::format("{:.0f}", all.finished), "finished");
  text += Tile(SpanText(all.wait_p50), "wait, median");
  text += Tile(SpanText(all.wait_mean), "wait, mean");
  text += Tile(SpanText(all.wait_p99), "wait, p99");
  text += Tile(fmt::format("{:.0f} %", share),
               run.resource + (has_nodes ? " of nodes in use" : " of quota in use"));
  text += Tile(fmt::format("{:.0f}", all.preemptions), "preemptions");
  return text + "</div>\n";
}

std::string Section(const std::string& title, const std::string& content) {
  return "<section><h3>" + HtmlText(title) + "</h3>\n" + content + "</section>\n";
}

std::string UseSection(const SimulationPictures& run, const Scales& scales) {
  const auto on_axis = [&](const std::vector<double>& values) {
    return OnAxis(values, run.timeline.end, scales.end);
  };
  std::vector<ChartSeries> series;
  const bool has_nodes = !run.timeline.of_nodes.empty();
  series.push_back({"in use", on_axis(run.timeline.in_use), "c0"});
  if (has_nodes)
    series.push_back({"of nodes", on_axis(run.timeline.of_nodes), "c1"});
  else
    series.push_back(
        {"nominal quota", std::vector<double>(run.timeline.in_use.size(), Nominal(run)), "others"});
  const std::string title = run.resource + (has_nodes ? " of nodes and in use" : ": quota and use");
  return Section(
      title,
      LineChart({.title = title, .unit = "", .end = scales.end, .most = scales.units}, series) +
          Legend(series));
}

std::map<std::string, std::string> ColorsOf(const SimulationPictures& run) {
  std::map<std::string, std::string> colors;
  for (std::size_t i = 0; i < run.timeline.shares.size(); ++i) {
    const std::string& name = run.timeline.shares[i].name;
    colors[name] = name == "others" ? "others" : "c" + std::to_string(i % 8);
  }
  return colors;
}

std::string ColorOf(const std::map<std::string, std::string>& colors, const std::string& queue) {
  const auto found = colors.find(queue);
  return found == colors.end() ? "others" : found->second;
}

std::string ShareSection(const SimulationPictures& run, const Scales& scales,
                         const std::map<std::string, std::string>& colors) {
  std::vector<ChartSeries> series;
  for (const simulation::Series& each : run.timeline.shares) {
    series.push_back(
        {each.name, OnAxis(each.values, run.timeline.end, scales.end), ColorOf(colors, each.name)});
  }
  const std::string title = run.resource + " in use by ClusterQueue";
  return Section(
      title,
      StackedChart({.title = title, .unit = "", .end = scales.end, .most = scales.units}, series) +
          Legend(series));
}

std::string QueueSection(const SimulationPictures& run, const Scales& scales) {
  const std::vector<ChartSeries> series{
      {"waiting jobs", OnAxis(run.timeline.waiting, run.timeline.end, scales.end), "c3"}};
  return Section(
      "Jobs that wait",
      LineChart({.title = "Jobs that wait", .unit = "", .end = scales.end, .most = scales.waiting},
                series));
}

BarRow RowOf(const simulation::GanttRow& row, simulation::TraceUnit unit,
             const std::map<std::string, std::string>& colors) {
  BarRow drawn{.name = row.name, .lanes = row.lanes, .bars = {}};
  if (row.node) {
    drawn.there_from = row.node->made;
    drawn.there_to = row.node->gone;
    drawn.ready = row.node->ready;
  }
  for (const simulation::GanttBar& bar : row.bars) {
    const std::string span = SpanText(simulation::SecondsOf(bar.end - bar.start));
    drawn.bars.push_back(
        {.start = bar.start,
         .end = bar.end,
         .lane = bar.lane,
         .color = ColorOf(colors, bar.cluster_queue),
         .cut = !bar.finished,
         .tooltip = fmt::format("{} {} of {}, {}{}", ToString(unit), bar.line, bar.local_queue,
                                span, bar.finished ? "" : ", ended early")});
  }
  return drawn;
}

std::string GanttSection(const SimulationPictures& run, const Scales& scales,
                         const std::map<std::string, std::string>& colors) {
  std::vector<BarRow> rows;
  for (const simulation::GanttRow& row : run.gantt.rows)
    rows.push_back(RowOf(row, run.view.unit, colors));
  std::string text = BarsChart("What ran where", scales.end, rows);
  std::vector<std::string> left_out;
  if (run.gantt.more_rows > 0) left_out.push_back(std::to_string(run.gantt.more_rows) + " rows");
  if (run.gantt.more_bars > 0) left_out.push_back(std::to_string(run.gantt.more_bars) + " runs");
  if (!left_out.empty()) {
    text += "<p class=\"soft\">Left out: " + Join(left_out, ", ") + ".</p>\n";
  }
  return Section(
      run.timeline.of_nodes.empty() ? "What ran in which queue" : "What ran on which node", text);
}

std::string Charts(const SimulationPictures& run, const Scales& scales) {
  const std::map<std::string, std::string> colors = ColorsOf(run);
  std::string text = Tiles(run);
  text += Section("Waits of the jobs that started",
                  WaitsChart("Waits of the jobs that started", run.timeline.waits));
  text += UseSection(run, scales) + QueueSection(run, scales);
  text += ShareSection(run, scales, colors) + GanttSection(run, scales, colors);
  const std::string remarks = SimulationRemarks(run.view);
  if (!remarks.empty()) text += "<p class=\"remarks\">" + HtmlText(remarks) + "</p>\n";
  return text;
}

std::string Page(const std::string& workload, const std::string& content) {
  return kHead + ColorRules() + kPrint + "<h1>Simulated: " + HtmlText(workload) + "</h1>\n" +
         content + "</body>\n</html>\n";
}

}  // namespace

std::string SimulationPage(const SimulationPictures& run, const std::string& workload) {
  Scales scales;
  Widen(run, scales);
  return Page(workload, "<p class=\"soft\">" + HtmlText(SimulationHeadLine(run.view)) +
                            "</p>\n<div class=\"runs\"><div>\n" + Charts(run, scales) +
                            "</div></div>\n" + TablesHtml(SimulationTables(run.view.report)));
}

std::string ComparisonPage(const SimulationPictures& before, const SimulationPictures& after,
                           const std::string& workload) {
  Scales scales;
  Widen(before, scales);
  Widen(after, scales);
  std::string text = "<div class=\"runs two\">\n";
  for (const auto& [name, run] : {std::pair("Before", &before), std::pair("After", &after)}) {
    text += fmt::format("<div><h2>{}</h2>\n<p class=\"soft\">{}</p>\n", name,
                        HtmlText(SimulationHeadLine(run->view)));
    text += Charts(*run, scales) + "</div>\n";
  }
  text += "</div>\n<h2>After less before</h2>\n";
  return Page(workload,
              text + TablesHtml(ComparisonTables(Compare(before.view.report, after.view.report))));
}

}  // namespace berth::view

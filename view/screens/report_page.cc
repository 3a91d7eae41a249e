#include "view/screens/report_page.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "api/gpu_shares.h"
#include "base/rfc3339.h"
#include "view/screens/history_screen.h"
#include "view/screens/svg_charts.h"

namespace berth::view {
namespace {

using ledger::ReportLine;

constexpr char kReportHead[] = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>
<title>berth report</title>
<style>
:root { color-scheme: light dark; --page: #ffffff; --text: #1c2330; --soft: #5b6472;
  --grid: #e3e7ed; --used: #2563c9; --lost: #b03a3a; }
@media (prefers-color-scheme: dark) { :root { --page: #12161d; --text: #e8ecf2; --soft: #9ba5b4;
  --grid: #2b323d; --used: #6ea3f5; --lost: #ee8383; } }
body { background: var(--page); color: var(--text); margin: 0 auto; padding: 1.5rem 1rem 3rem;
  max-width: 72rem; font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 1.6rem 0 .4rem; }
.soft { color: var(--soft); } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .2rem .7rem .2rem 0; text-align: left; border-bottom: 1px solid var(--grid); }
th { color: var(--soft); font-weight: 600; white-space: nowrap; } .right { text-align: right; }
.bars { width: 100%; } .bars td:nth-child(2) { width: 70%; }
.bar { display: flex; height: .9rem; } .used { background: var(--used); }
.lost { background: var(--lost); }
@media print { :root { color-scheme: light; } body { max-width: none; padding: 0; font-size: 11px; }
  tr { break-inside: avoid; } .bar { print-color-adjust: exact; } }
</style>
</head>
<body>
)";

double HoursOf(const std::map<std::string, double>& hours, const std::string& resource) {
  const auto found = hours.find(resource);
  return found == hours.end() ? 0 : found->second;
}

// GPUs, else a GPU resource, else CPUs; empty: nothing was used.
std::string MainResourceOf(const std::vector<ReportLine>& lines) {
  std::string main;
  const auto rank = [](const std::string& resource) {
    if (resource == api::kGpusResource) return 0;
    if (api::IsGpuResource(resource)) return 1;
    return resource == "cpu" ? 2 : 3;
  };
  for (const ReportLine& line : lines) {
    for (const auto& [resource, hours] : line.used_hours) {
      if (hours > 0 && (main.empty() || rank(resource) < rank(main))) main = resource;
    }
  }
  return main;
}

// A bar for each line: what was destroyed of what was used.
std::string Bars(const std::vector<ReportLine>& lines, const std::string& resource) {
  double most = 0;
  for (const ReportLine& line : lines) most = std::max(most, HoursOf(line.used_hours, resource));
  const std::string name = resource == api::kGpusResource ? "GPU" : resource;
  std::string text = "<h2>" + HtmlText(name) +
                     " hours</h2>\n<p class=\"soft\">blue: used and kept; red: destroyed by "
                     "preemption or eviction</p>\n<table class=\"bars\"><tbody>\n";
  for (const ReportLine& line : lines) {
    const double used = HoursOf(line.used_hours, resource);
    const double lost = std::min(HoursOf(line.destroyed_hours, resource), used);
    text += fmt::format(
        "<tr><td>{}</td><td><div class=\"bar\"><div class=\"used\" style=\"width:{:.2f}%\">"
        "</div><div class=\"lost\" style=\"width:{:.2f}%\"></div></div></td>"
        "<td class=\"right\">{:.2f}</td></tr>\n",
        HtmlText(line.key.empty() ? "-" : line.key), (used - lost) / most * 100, lost / most * 100,
        used);
  }
  return text + "</tbody></table>\n";
}

// A bar for each line: what it cost; empty: nothing has a price.
std::string CostBars(const std::vector<ReportLine>& lines) {
  constexpr double kNano = 1e-9;
  std::int64_t most = 0;
  for (const ReportLine& line : lines) most = std::max(most, line.cost_nano);
  if (most == 0) return "";
  std::string text = "<h2>Cost</h2>\n<p class=\"soft\">USD</p>\n<table class=\"bars\"><tbody>\n";
  for (const ReportLine& line : lines) {
    text += fmt::format(
        "<tr><td>{}</td><td><div class=\"bar\"><div class=\"used\" style=\"width:{:.2f}%\">"
        "</div></div></td><td class=\"right\">{:.2f}</td></tr>\n",
        HtmlText(line.key.empty() ? "-" : line.key),
        static_cast<double>(line.cost_nano) / static_cast<double>(most) * 100,
        static_cast<double>(line.cost_nano) * kNano);
  }
  return text + "</tbody></table>\n";
}

}  // namespace

std::string ReportPage(const std::vector<ReportLine>& lines, const std::string& heading,
                       const ledger::Period& period) {
  std::string text = kReportHead;
  text += fmt::format("<h1>Accounts</h1>\n<p class=\"soft\">{} to {}</p>\n",
                      FormatTime(ledger::FromSeconds(period.from)),
                      FormatTime(ledger::FromSeconds(period.to)));
  if (lines.empty())
    return text + "<p>The ledger has nothing of that time.</p>\n</body>\n</html>\n";
  const std::string resource = MainResourceOf(lines);
  if (!resource.empty()) text += Bars(lines, resource);
  text += CostBars(lines);
  text += "<h2>All figures</h2>\n" + TableHtml(ReportTable(lines, heading));
  return text + "</body>\n</html>\n";
}

}  // namespace berth::view

#include "view/screens/setup_day.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "view/screens/simulation_tables.h"

namespace berth::view {
namespace {

using simulation::Figures;
using simulation::JobShapeChoice;
using simulation::JobSource;
using simulation::RandomSpan;
using simulation::ReportRow;

constexpr std::uint64_t kSeed = 1;
constexpr std::chrono::hours kDay{24};
constexpr std::chrono::minutes kMedianRun{30};
constexpr double kSigma = 0.8;
constexpr double kLoad = 0.75;  // the share of the quota that the jobs hold over the day

// A job of the shape requests quota/part, and at least one GPU.
struct DayShape {
  double weight;
  api::Amount part;
};
constexpr DayShape kShapes[] = {{4, 8}, {2, 4}, {1, 2}};

// The share of the quota that a job of the shape holds.
double ShareOf(const JobShapeChoice& shape, const FirstSetup& setup, const SetupTeam& team) {
  double share = 0;
  for (const auto& [name, quota] : team.quota) {
    const auto found = shape.requests.find(ResourceOf(setup, name));
    if (found == shape.requests.end() || quota == 0) continue;
    share = std::max(share, static_cast<double>(found->second) / static_cast<double>(quota));
  }
  return share;
}

JobSource SourceOf(const FirstSetup& setup, const SetupTeam& team) {
  JobSource source{.queue = NamespaceOf(setup, team) + "/" + team.name};
  double weights = 0;
  double shares = 0;
  for (const DayShape& each : kShapes) {
    JobShapeChoice shape{.weight = each.weight};
    for (const auto& [name, quota] : team.quota) {
      if (quota == 0) continue;
      shape.requests[ResourceOf(setup, name)] = std::max<api::Amount>(1, quota / each.part);
    }
    weights += shape.weight;
    shares += shape.weight * ShareOf(shape, setup, team);
    source.shapes.push_back(std::move(shape));
  }
  source.run = {.kind = RandomSpan::Kind::kLognormal, .first = kMedianRun, .sigma = kSigma};
  const double run = static_cast<double>(Duration(kMedianRun).count()) *
                     std::exp(kSigma * kSigma / 2);  // the mean
  const Duration between(std::llround(shares / weights * run / kLoad));
  source.between = {.kind = RandomSpan::Kind::kExponential, .first = between};
  source.count = std::max<std::int64_t>(1, Duration(kDay) / between);
  return source;
}

// The resource whose use the table shows.
std::string MainOf(const FirstSetup& setup, const SetupTeam& team) {
  return team.quota.at("gpu") > 0 ? setup.gpu_resource : "cpu";
}

std::vector<std::string> CellsOf(const std::string& name, const Figures& figures,
                                 const std::string& resource) {
  return {
      name, fmt::format("{:.0f}", figures.jobs), SpanOf(figures.wait_p50), SpanOf(figures.wait_p90),
      fmt::format("{:.0f} % of {}", HoursOf(figures.utilisation, resource) * kPercent, resource)};
}

}  // namespace

std::vector<JobSource> SourcesOf(const FirstSetup& setup) {
  std::vector<JobSource> sources;
  for (const SetupTeam& team : setup.teams) sources.push_back(SourceOf(setup, team));
  return sources;
}

Result<simulation::Trace> DayOf(const FirstSetup& setup) {
  return simulation::GenerateTrace(SourcesOf(setup), kSeed);
}

std::string RenderDay(const FirstSetup& setup, const simulation::Report& report,
                      const TextStyle& style) {
  TextTable table({{"TEAM"},
                   {"JOBS", Align::kRight},
                   {"WAIT P50", Align::kRight},
                   {"WAIT P90", Align::kRight},
                   {"USE OF QUOTA"}});
  for (const SetupTeam& team : setup.teams) {
    const std::string queue = NamespaceOf(setup, team) + "/" + team.name;
    const auto row =
        std::find_if(report.rows.begin(), report.rows.end(),
                     [&queue](const ReportRow& each) { return each.local_queue == queue; });
    if (row == report.rows.end()) continue;
    table.AddRow(CellsOf(team.name, row->figures, MainOf(setup, team)));
  }
  if (setup.teams.size() > 1) {
    table.AddRow(CellsOf("all", report.total.figures, setup.has_gpus ? setup.gpu_resource : "cpu"));
  }
  return "A day of these queues in virtual time, with jobs made by chance:\n\n" +
         table.Render(style) +
         (setup.capacity == SetupCapacity::kFixed
              ? "\n"
              : "\nThe waits are waits for quota; waits for machines are not simulated.\n\n");
}

}  // namespace berth::view

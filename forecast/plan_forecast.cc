#include "forecast/plan_forecast.h"

#include <algorithm>
#include <utility>

#include "api/deadline.h"
#include "forecast/forecast_cluster.h"
#include "forecast/forecast_threads.h"
#include "simulation/deadline_chance.h"

namespace berth::forecast {
namespace {

constexpr char kPlanned[] = "berth-plan";  // the uid of the Workload that is not created
constexpr std::int64_t kMostDraws = 50;
constexpr std::int64_t kFewestDraws = 5;
constexpr std::int64_t kDrawnJobs = 20'000;  // the limit of all draws together
constexpr double kLow = 0.1;
constexpr double kMedian = 0.5;
constexpr double kHigh = 0.9;

view::ClusterView WithPlanned(view::ClusterView view, const api::Workload& planned) {
  api::Workload& workload = view.workloads.emplace_back(planned);
  workload.meta.uid = kPlanned;
  workload.meta.creation_timestamp = view.now;
  return view;
}

}  // namespace

view::PlannedStart ForecastPlanned(const view::ClusterView& view, const view::PlannedJob& job) {
  const ForecastCluster cluster = MakeForecastCluster(WithPlanned(view, job.workload), {});
  const ForecastJobs known = ForecastJobsOf(cluster);
  view::PlannedStart start;
  for (const simulation::NotQueued& each : known.not_queued) {
    if (each.workload->meta.uid == kPlanned) start.why = each.why;
  }
  const auto planned = std::find_if(
      known.jobs.begin(), known.jobs.end(),
      [](const simulation::ForecastJob& each) { return each.job.object->meta.uid == kPlanned; });
  if (planned == known.jobs.end()) return start;
  const auto place = static_cast<std::size_t>(planned - known.jobs.begin());
  simulation::ForecastOptions options = ForecastOptionsOf(cluster);
  options.draws = static_cast<int>(std::clamp(
      kDrawnJobs / static_cast<std::int64_t>(known.jobs.size()), kFewestDraws, kMostDraws));
  options.asked = {place};
  const simulation::Forecast forecast = MakeForecastInThreads(cluster.cluster, known.jobs, options);
  const simulation::JobForecast& told = forecast.jobs[place];
  start.p10 = told.At(kLow);
  start.p50 = told.At(kMedian);
  start.p90 = told.At(kHigh);
  start.why = told.why;
  if (const std::optional<double> chance = simulation::ChanceInTime(told)) {
    start.deadline = api::DeadlineOf(job.workload.meta.annotations);
    start.in_time = *chance;
  }
  return start;
}

}  // namespace berth::forecast

#include "simulation/what_if.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "simulation/present_workloads.h"

namespace berth::simulation {
namespace {

constexpr double kTinyShare = 1e-9;  // a share of the draws that makes no difference

JobSide SideOf(const JobForecast& forecast) {
  JobSide side{.p50 = forecast.At(0.5), .place = forecast.place, .why = forecast.why};
  const auto draws = static_cast<double>(forecast.starts.size());
  side.chance = static_cast<double>(forecast.Started()) / draws;
  side.preemptions =
      static_cast<double>(std::accumulate(forecast.preemptions.begin(), forecast.preemptions.end(),
                                          std::int64_t{0})) /
      draws;
  return side;
}

Duration MeanShift(const JobForecast& before, const JobForecast& after) {
  std::int64_t both = 0;
  double sum = 0;
  for (std::size_t draw = 0; draw < before.starts.size() && draw < after.starts.size(); ++draw) {
    if (!before.starts[draw] || !after.starts[draw]) continue;
    ++both;
    sum += static_cast<double>((*after.starts[draw] - *before.starts[draw]).count());
  }
  return both == 0 ? Duration(0)
                   : Duration(static_cast<std::int64_t>(sum / static_cast<double>(both)));
}

JobEffect EffectOf(const JobChange& change) {
  const JobSide& before = change.before;
  const JobSide& after = change.after;
  if (after.chance < before.chance - kTinyShare) return JobEffect::kImpossible;
  if (after.preemptions > before.preemptions + kTinyShare) return JobEffect::kPreempted;
  if (change.shift >= kLeastShift) return JobEffect::kLater;
  if (after.chance > before.chance + kTinyShare) return JobEffect::kPossible;
  if (change.shift <= -kLeastShift) return JobEffect::kEarlier;
  if (after.preemptions < before.preemptions - kTinyShare) return JobEffect::kSpared;
  return JobEffect::kNone;
}

}  // namespace

const char* ToString(JobEffect effect) {
  switch (effect) {
    case JobEffect::kNone: return "none";
    case JobEffect::kNew: return "new";
    case JobEffect::kImpossible: return "impossible";
    case JobEffect::kPreempted: return "preempted";
    case JobEffect::kLater: return "later";
    case JobEffect::kEarlier: return "earlier";
    case JobEffect::kSpared: return "spared";
    case JobEffect::kPossible: return "possible";
  }
  return "";
}

std::vector<JobChange> CompareForecasts(const ForecastSide& before, const ForecastSide& after) {
  std::map<std::string, std::size_t> known;  // by uid
  for (std::size_t i = 0; i < before.jobs.size(); ++i) {
    known[before.jobs[i].job.object->meta.uid] = i;
  }
  std::vector<JobChange> changes;
  for (std::size_t i = 0; i < after.jobs.size(); ++i) {
    const JobForecast& then = after.forecast.jobs[i];
    JobChange& change = changes.emplace_back();
    change.workload = after.jobs[i].job.object;
    change.after = SideOf(then);
    const auto found = known.find(change.workload->meta.uid);
    if (found == known.end()) {
      change.effect = JobEffect::kNew;
      continue;
    }
    const JobForecast& now = before.forecast.jobs[found->second];
    change.runs = IsRunning(*before.jobs[found->second].job.object);
    change.before = SideOf(now);
    // The change itself ends the run.
    if (change.runs && !IsRunning(*change.workload)) change.after.preemptions += 1;
    change.shift = change.runs ? Duration(0) : MeanShift(now, then);
    change.effect = EffectOf(change);
  }
  return changes;
}

bool IsWorseOff(const JobChange& change) {
  return change.effect == JobEffect::kImpossible || change.effect == JobEffect::kPreempted ||
         change.effect == JobEffect::kLater;
}

}  // namespace berth::simulation

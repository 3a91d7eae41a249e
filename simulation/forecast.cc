#include "simulation/forecast.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "api/deadline.h"
#include "base/nearest_rank.h"
#include "base/random.h"
#include "simulation/drawn_jobs.h"
#include "simulation/present_workloads.h"

namespace berth::simulation {
namespace {

// A job that is neither admitted nor has quota.
bool Waits(const Job& job) { return !IsRunning(*job.object); }

std::vector<std::size_t> WaitingAmong(const std::vector<ForecastJob>& jobs,
                                      const std::vector<std::size_t>& asked) {
  std::vector<std::size_t> waiting;
  const auto consider = [&](std::size_t job) {
    if (Waits(jobs[job].job)) waiting.push_back(job);
  };
  if (asked.empty()) {
    for (std::size_t job = 0; job < jobs.size(); ++job) consider(job);
  } else {
    std::for_each(asked.begin(), asked.end(), consider);
  }
  return waiting;
}

// By job that waits: its deadline, from the moment of the cluster.
std::vector<std::optional<Duration>> DeadlinesOf(const std::vector<ForecastJob>& jobs,
                                                 const std::optional<WallTime>& start) {
  std::vector<std::optional<Duration>> deadlines(jobs.size());
  for (std::size_t i = 0; start && i < jobs.size(); ++i) {
    if (jobs[i].job.object == nullptr || !Waits(jobs[i].job)) continue;
    const auto deadline = api::DeadlineOf(jobs[i].job.object->meta.annotations);
    if (deadline) deadlines[i] = *deadline - *start;
  }
  return deadlines;
}

// A draw may end before the job does.
std::optional<Duration> EndOf(const Job& job, const JobOutcome& outcome) {
  if (outcome.finished) return outcome.finished;
  return outcome.started ? std::optional(*outcome.started + job.run) : std::nullopt;
}

// Plays draws.
class Player {
 public:
  Player(const Cluster& cluster, const ForecastOptions& options, WorldOptions world)
      : cluster_(cluster),
        reach_(options.arrivals == nullptr ? Duration(0) : options.arrivals->arrivals.reach()),
        world_(std::move(world)),
        started_(world_.until_started),
        finished_(world_.until_finished) {}

  // Jobs that come after all awaited ones have started, or finished, change nothing: a horizon is
  // enough if all of them do so within it. The result does not depend on the horizons tried.
  WorldResult Play(DrawnJobs& draws) {
    for (;; horizon_ *= kGrowth) {
      horizon_ = std::min(horizon_, reach_);
      draws.AddArrivals(horizon_);
      world_.until_started = draws.PlacesOf(started_);
      world_.until_finished = draws.PlacesOf(finished_);
      WorldResult result = World(cluster_, draws.jobs(), world_).Run();
      if (horizon_ == reach_ || result.stopped_early || IsWithin(result)) return result;
    }
  }

 private:
  static constexpr Duration kFirstHorizon = std::chrono::hours(12);
  static constexpr int kGrowth = 4;

  bool IsWithin(const WorldResult& result) const {
    // A job that never starts does not do so among more jobs.
    const auto is_late = [&](const std::optional<Duration>& time) {
      return time && *time > horizon_;
    };
    for (const std::size_t job : world_.until_started) {
      if (is_late(result.outcomes[job].started)) return false;
    }
    for (const std::size_t job : world_.until_finished) {
      if (is_late(result.outcomes[job].finished)) return false;
    }
    return true;
  }

  const Cluster& cluster_;
  const Duration reach_;  // nobody comes later
  WorldOptions world_;
  const std::vector<std::size_t> started_;  // jobs of the forecast
  const std::vector<std::size_t> finished_;
  Duration horizon_ = kFirstHorizon;
};

}  // namespace

Duration CapacityWait::At(double share) const {
  struct Point {
    double share;
    double wait;
  };
  const auto count = [](Duration wait) { return static_cast<double>(wait.count()); };
  const Point points[] = {
      {0, 0}, {0.1, count(p10)}, {0.5, count(p50)}, {0.9, count(p90)}, {1, 2 * count(p90)}};
  for (std::size_t i = 1; i < std::size(points); ++i) {
    const Point& below = points[i - 1];
    const Point& above = points[i];
    if (share > above.share) continue;
    const double part = (share - below.share) / (above.share - below.share);
    return Duration(std::llround(below.wait + part * (above.wait - below.wait)));
  }
  return 2 * p90;
}

std::int64_t JobForecast::Started() const {
  return std::count_if(starts.begin(), starts.end(),
                       [](const auto& start) { return start.has_value(); });
}

std::optional<Duration> JobForecast::At(double share) const {
  if (starts.empty()) return std::nullopt;
  std::vector<Duration> known;
  for (const auto& start : starts) {
    if (start) known.push_back(*start);
  }
  // A job that never starts comes behind all starts.
  const std::size_t index = NearestRank(share, starts.size());
  if (index >= known.size()) return std::nullopt;
  const auto at = known.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(known.begin(), at, known.end());
  return *at;
}

Forecast JoinForecasts(std::vector<Forecast> parts) {
  if (parts.empty()) return {};
  Forecast joined = std::move(parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    joined.stopped_early += parts[i].stopped_early;
    for (std::size_t job = 0; job < joined.jobs.size(); ++job) {
      JobForecast& all = joined.jobs[job];
      const JobForecast& part = parts[i].jobs[job];
      all.ends.insert(all.ends.end(), part.ends.begin(), part.ends.end());
      all.starts.insert(all.starts.end(), part.starts.begin(), part.starts.end());
      all.preemptions.insert(all.preemptions.end(), part.preemptions.begin(),
                             part.preemptions.end());
      if (all.why.empty()) all.why = part.why;
    }
  }
  return joined;
}

Forecast MakeForecast(const Cluster& cluster, const std::vector<ForecastJob>& jobs,
                      const ForecastOptions& options) {
  Forecast forecast;
  forecast.jobs.resize(jobs.size());
  WorldOptions world = options.world;
  if (options.until == ForecastUntil::kStarted) {
    world.until_started = WaitingAmong(jobs, options.asked);
    if (world.until_started.empty()) return forecast;
  } else if (options.arrivals != nullptr) {
    world.until_finished.resize(jobs.size());
    std::iota(world.until_finished.begin(), world.until_finished.end(), 0);
  }
  const auto deadlines = DeadlinesOf(jobs, options.world.start);
  for (std::size_t i = 0; i < jobs.size(); ++i) forecast.jobs[i].deadline = deadlines[i];
  DrawnJobs draws(jobs, options);
  Player player(cluster, options, std::move(world));
  const int end = options.end < 0 ? options.draws : std::min(options.end, options.draws);
  for (int draw = 0; draw < end; ++draw) {
    if (options.cancelled && options.cancelled()) break;
    if (draw < options.first) {
      draws.Skip();
      continue;
    }
    draws.Draw(draw);
    const WorldResult result = player.Play(draws);
    if (result.stopped_early) ++forecast.stopped_early;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const std::size_t place = draws.PlaceOf(i);
      const JobOutcome& outcome = result.outcomes[place];
      JobForecast& known = forecast.jobs[i];
      known.starts.push_back(outcome.started);
      known.preemptions.push_back(outcome.preemptions);
      if (known.deadline) known.ends.push_back(EndOf(draws.jobs()[place], outcome));
      if (!outcome.started && known.why.empty()) known.why = outcome.why;
      if (draw == 0) known.place = outcome.place;
    }
  }
  return forecast;
}

}  // namespace berth::simulation

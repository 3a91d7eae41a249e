#include "simulation/forecast.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "simulation/standing.h"

namespace berth::simulation {
namespace {

constexpr std::uint64_t kFnvStart = 14695981039346656037U;
constexpr std::uint64_t kFnvPrime = 1099511628211U;

std::uint64_t HashOf(const std::string& text) {
  std::uint64_t hash = kFnvStart;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kFnvPrime;
  return hash;
}

// The shares of a job's distribution, draw by draw: each of `draws` equal parts of it once, in an
// order of the job's own.
class Shares {
 public:
  Shares(std::uint64_t seed, int draws) : random_(seed), draws_(static_cast<std::uint64_t>(draws)) {
    offset_ = random_.Below(draws_);
    do {
      step_ = 1 + random_.Below(draws_);
    } while (std::gcd(step_, draws_) != 1);
  }

  double Next() {
    offset_ = (offset_ + step_) % draws_;
    return (static_cast<double>(offset_) + random_.Unit()) / static_cast<double>(draws_);
  }

 private:
  Random random_;
  std::uint64_t draws_;
  std::uint64_t offset_ = 0;
  std::uint64_t step_ = 1;
};

struct JobShares {
  Shares run;
  Shares left;
  Shares capacity;
};

Duration SecondsToDuration(double seconds) {
  constexpr double kMicrosecondsPerSecond = 1e6;
  return Duration(std::llround(seconds * kMicrosecondsPerSecond));
}

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

// How long the job has run; 0: it has not.
Duration RanUntil(std::optional<WallTime> now, const ForecastJob& job) {
  if (!now || job.left == nullptr || !HasRun(*job.job.object)) return {};
  return *now - RunningSince(*job.job.object, *now);
}

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
  const auto rank = static_cast<std::size_t>(
      std::max(1.0, std::ceil(share * static_cast<double>(starts.size()))));
  if (rank > known.size()) return std::nullopt;
  std::nth_element(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(rank - 1),
                   known.end());
  return known[rank - 1];
}

Forecast JoinForecasts(std::vector<Forecast> parts) {
  if (parts.empty()) return {};
  Forecast joined = std::move(parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    joined.stopped_early += parts[i].stopped_early;
    for (std::size_t job = 0; job < joined.jobs.size(); ++job) {
      JobForecast& all = joined.jobs[job];
      const JobForecast& part = parts[i].jobs[job];
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
  }
  std::vector<Job> drawn;
  std::vector<JobShares> shares;
  std::vector<Duration> ran;  // by job, until the moment of the cluster
  drawn.reserve(jobs.size());
  shares.reserve(jobs.size());
  for (const ForecastJob& each : jobs) {
    drawn.push_back(each.job);
    ran.push_back(RanUntil(world.start, each));
    const std::uint64_t hash = HashOf(each.job.object->meta.uid);
    const auto stream = [&](std::uint64_t number) {
      return Shares(Random(options.seed ^ (hash + number)).Next(), options.draws);
    };
    shares.push_back({stream(0), stream(1), stream(2)});
  }
  const int end = options.end < 0 ? options.draws : std::min(options.end, options.draws);
  for (int draw = 0; draw < end; ++draw) {
    if (options.cancelled && options.cancelled()) break;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      Job& job = drawn[i];
      job.run = SecondsToDuration(jobs[i].run->At(shares[i].run.Next()));
      const double left = shares[i].left.Next();
      if (jobs[i].left != nullptr) {
        job.left = SecondsToDuration(jobs[i].left->At(left));
        job.run = ran[i] + job.left;
      }
      const double wait = shares[i].capacity.Next();
      if (jobs[i].capacity) job.capacity_wait = jobs[i].capacity->At(wait);
    }
    if (draw < options.first) continue;
    const WorldResult result = World(cluster, drawn, world).Run();
    if (result.stopped_early) ++forecast.stopped_early;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const JobOutcome& outcome = result.outcomes[i];
      JobForecast& known = forecast.jobs[i];
      known.starts.push_back(outcome.started);
      known.preemptions.push_back(outcome.preemptions);
      if (!outcome.started && known.why.empty()) known.why = outcome.why;
    }
  }
  return forecast;
}

}  // namespace berth::simulation

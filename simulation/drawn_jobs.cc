#include "simulation/drawn_jobs.h"

#include <cmath>
#include <numeric>

#include "simulation/present_workloads.h"
#include "simulation/streams.h"

namespace berth::simulation {
namespace {

Duration SecondsToDuration(double seconds) {
  constexpr double kMicrosecondsPerSecond = 1e6;
  return Duration(std::llround(seconds * kMicrosecondsPerSecond));
}

// How long the job has run; 0: it has not.
Duration RanUntil(std::optional<WallTime> now, const ForecastJob& job) {
  if (!now || job.left == nullptr || !HasRun(*job.job.object)) return {};
  return *now - RunningSince(*job.job.object, *now);
}

// The streams of random numbers of a job.
constexpr std::uint64_t kRunStream = 0;
constexpr std::uint64_t kCapacityStream = 2;
constexpr std::uint64_t kSpreadStream = 3;

}  // namespace

DrawnJobs::Shares::Shares(std::uint64_t seed, int draws)
    : random_(seed), draws_(static_cast<std::uint64_t>(draws)) {
  offset_ = random_.Below(draws_);
  do {
    step_ = 1 + random_.Below(draws_);
  } while (std::gcd(step_, draws_) != 1);
}

double DrawnJobs::Shares::Next() {
  offset_ = (offset_ + step_) % draws_;
  return (static_cast<double>(offset_) + random_.Unit()) / static_cast<double>(draws_);
}

DrawnJobs::DrawnJobs(const std::vector<ForecastJob>& jobs, const ForecastOptions& options)
    : jobs_(jobs), options_(options) {
  if (options.runs != nullptr) {
    draw_.emplace(*options.runs);
    runs_.assign(options.runs->members().size(), 0);
    job_of_.assign(options.runs->members().size(), jobs.size());
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    drawn_.push_back(jobs[i].job);
    hashes_.push_back(StreamOf(jobs[i].job.object->meta.uid));
    const auto stream = [&](std::uint64_t number) {
      return Shares(Random(options.seed ^ (hashes_[i] + number)).Next(), options.draws);
    };
    shares_.push_back({stream(kRunStream), stream(kCapacityStream)});
    ran_.push_back(RanUntil(options.world.start, jobs[i]));
    places_.push_back(i);
    if (draw_ && jobs[i].member) job_of_[*jobs[i].member] = i;
  }
}

void DrawnJobs::Skip() {
  for (JobShares& each : shares_) {
    each.run.Next();
    each.capacity.Next();
  }
}

void DrawnJobs::Draw(int number) {
  number_ = number;
  std::vector<double> shares;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    shares.push_back(shares_[i].run.Next());
    const double wait = shares_[i].capacity.Next();
    if (jobs_[i].capacity) drawn_[i].capacity_wait = jobs_[i].capacity->At(wait);
    if (draw_ && jobs_[i].member) continue;
    drawn_[i].run = SecondsToDuration(jobs_[i].run->At(shares[i]));
    if (jobs_[i].left == nullptr) continue;
    drawn_[i].left = SecondsToDuration(jobs_[i].left->At(shares[i]));
    drawn_[i].run = ran_[i] + drawn_[i].left;
  }
  if (draw_) DrawMembers(shares);
}

void DrawnJobs::DrawMembers(const std::vector<double>& shares) {
  draw_->Restart();
  for (const std::size_t member : options_.runs->open()) {
    const std::size_t job = job_of_[member];
    const RunMember& known = options_.runs->members()[member];
    const std::uint64_t hash = job < jobs_.size() ? hashes_[job] : StreamOf(known.uid);
    Random random(options_.seed ^
                  (hash + kSpreadStream + 16 * static_cast<std::uint64_t>(number_)));
    const double share = job < jobs_.size() ? shares[job] : random.Unit();
    const double run = draw_->Take(member, share, random);
    runs_[member] = run;
    if (job == jobs_.size()) continue;
    drawn_[job].run = SecondsToDuration(run);
    if (known.state == RunState::kRuns) {
      drawn_[job].left = SecondsToDuration(run - static_cast<double>(known.seconds));
    }
  }
}

void DrawnJobs::AddArrivals(Duration horizon) {
  merged_.clear();
  std::vector<Arrival> arrivals;
  if (options_.arrivals != nullptr) {
    const std::uint64_t seed = options_.seed * 1'000'003 + static_cast<std::uint64_t>(number_);
    arrivals = options_.arrivals->arrivals.Draw(Random(seed).Next(), horizon);
  }
  auto next = arrivals.begin();
  const auto add_until = [&](std::optional<Duration> time) {
    for (; next != arrivals.end(); ++next) {
      const Duration submit = SecondsToDuration(next->submit);
      if (time && submit >= *time) return;
      Job& job = merged_.emplace_back(options_.arrivals->jobs[next->member]);
      job.submit = submit;
      const RunMember& known = options_.runs->members()[next->member];
      const bool ended = known.state == RunState::kEnded;
      job.run = SecondsToDuration(ended ? static_cast<double>(known.seconds) : runs_[next->member]);
    }
  };
  for (std::size_t i = 0; i < drawn_.size(); ++i) {
    add_until(drawn_[i].submit);
    places_[i] = merged_.size();
    merged_.push_back(drawn_[i]);
  }
  add_until(std::nullopt);
}

std::vector<std::size_t> DrawnJobs::PlacesOf(std::vector<std::size_t> jobs) const {
  for (std::size_t& job : jobs) job = PlaceOf(job);
  return jobs;
}

}  // namespace berth::simulation

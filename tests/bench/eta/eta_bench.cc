// eta_bench [--starts N] [--draws N] [--seed N] [--load SHARE] [--pending N] [--most-off PERCENT] —
// how often forecasts of starts are right, and what one costs.
//
// Jobs with hidden run-time distributions run on the real scheduler (hidden_trace.h). At every
// eighth arrival the jobs that have arrived since then and wait get a forecast from what is known
// at that moment: the last runs that have ended, what runs for how long, what waits. The
// calibration knows the starts until that moment. A job that still waits half an hour later gets
// a second forecast: these later ones have a table of their own. Printed: the share of real starts
// within p10, p50 and p90, before and after the calibration, the median error of p50, and the mean
// pinball loss of the three quantiles, beside the quantiles of the last waits of the queue, and an
// estimate that takes the declared maxima for run times; and how often jobs ended by their
// deadlines, by the chance that was told. Then the time of one draw with so many
// pending jobs. With
// --most-off the times are left out, and the exit code is 1 where more or fewer than 50 and 90 of
// 100 starts are within the calibrated p50 and p90, by more than PERCENT.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "forecast/run_members.h"
#include "simulation/calibration.h"
#include "simulation/deadline_chance.h"
#include "simulation/forecast.h"
#include "simulation/present_workloads.h"
#include "tests/bench/eta/hidden_trace.h"
#include "tests/bench/eta/notes_pass.h"

namespace berth::bench {
namespace {

using simulation::Calibration;
using simulation::ForecastJob;
using simulation::RunForecast;
using simulation::StartQuantiles;

constexpr std::size_t kEveryArrival = 8;
constexpr std::size_t kWarmUp = 1000;     // forecasts that are not counted: nothing is known yet
constexpr std::size_t kJobsOfAStart = 5;  // most start at once, and get no forecast
constexpr std::size_t kMostRuns = 2000;   // runs that have ended, in a model
constexpr std::size_t kMostWaits = 200;   // the last of a queue

struct Options {
  std::size_t starts = 10'000;
  int draws = 20;
  std::uint64_t seed = 1;
  double load = 0.95;
  int pending = 10'000;
  double most_off = 0;  // percent; 0: nothing is judged
};

// One forecast and what came of it.
struct Told {
  std::size_t job = 0;
  Duration at{};
  simulation::ForecastGroup group;
  StartQuantiles raw;
  StartQuantiles calibrated;
  StartQuantiles own;   // quantiles of the last waits of the queue
  Duration declared{};  // the estimate from declared maxima
  double in_time = 0;   // the told chance that the job ends by its deadline
};

std::shared_ptr<const RunForecast> Certain(double seconds) {
  auto run = std::make_shared<RunForecast>();
  run->seconds.fill(seconds);
  return run;
}

class Study {
 public:
  Study(const HiddenTrace& trace, const Options& options) : trace_(trace), options_(options) {
    for (std::size_t i = 0; i < trace.jobs.size(); ++i) by_end_.push_back(i);
    std::sort(by_end_.begin(), by_end_.end(), [&](std::size_t a, std::size_t b) {
      return *trace.jobs[a].end < *trace.jobs[b].end;
    });
    by_start_ = by_end_;
    std::sort(by_start_.begin(), by_start_.end(), [&](std::size_t a, std::size_t b) {
      return *trace.jobs[a].start < *trace.jobs[b].start;
    });
  }

  std::vector<Told> Run() {
    for (std::size_t next = kEveryArrival; next < trace_.jobs.size(); next += kEveryArrival) {
      if (told_.size() >= options_.starts + kWarmUp) break;
      TellAt(next);
    }
    return told_;
  }

 private:
  void Learn(Duration at) {
    while (ended_ < by_end_.size() && *trace_.jobs[by_end_[ended_]].end <= at) ++ended_;
    while (started_ < by_start_.size() && *trace_.jobs[by_start_[started_]].start <= at) {
      const HiddenJob& job = trace_.jobs[by_start_[started_++]];
      std::deque<Duration>& waits = waits_[job.key.queue];
      waits.push_back(*job.start - job.submit);
      if (waits.size() > kMostWaits) waits.pop_front();
    }
    std::vector<Calibration::Past> waiting;
    std::erase_if(open_, [&](std::size_t index) {
      const Told& told = told_[index];
      const HiddenJob& job = trace_.jobs[told.job];
      const bool started = *job.start <= at;
      if (started) {
        calibration_.Add({kTraceStart + told.at, told.raw, *job.start - told.at, true, told.group});
      } else {
        waiting.push_back({kTraceStart + told.at, told.raw, at - told.at, false, told.group});
      }
      return started;
    });
    calibration_.SetWaiting(waiting);
    corrections_ = calibration_.Now();
  }

  // Whether the waiting job gets a forecast: at its arrival, and once when it has waited.
  bool Asks(std::size_t job, std::size_t next, Duration at) {
    if (job > next - kEveryArrival) return true;
    const bool later = at - trace_.jobs[job].submit >= simulation::kLaterAge;
    return later && asked_later_.insert(job).second;
  }

  // Adds the job as it is known at that moment; returns its number among the members.
  std::size_t AddMember(const HiddenJob& job, Duration at, forecast::RunMembers& made) const {
    const auto whole = [](Duration time) { return ledger::ToSeconds(kTraceStart + time); };
    simulation::RunMember& member = made.members.emplace_back();
    member.uid = job.waiting->meta.uid;
    member.key = job.key;
    member.submitted = whole(job.submit);
    member.until = whole(std::min(*job.end, at));
    if (*job.start <= at) member.seconds = member.until - whole(*job.start);
    using simulation::RunState;
    member.state = *job.end <= at     ? RunState::kEnded
                   : *job.start <= at ? RunState::kRuns
                                      : RunState::kWaits;
    auto shape = std::make_shared<simulation::JobShape>();
    shape->pod_sets = job.waiting->spec.pod_sets;
    shape->requests = job.key.requests;
    made.shapes.push_back(std::move(shape));
    made.priorities.push_back(job.waiting->spec.priority.value_or(0));
    return made.members.size() - 1;
  }

  // The runs that ended last.
  forecast::RunMembers Past(Duration at) const {
    forecast::RunMembers made;
    for (std::size_t i = ended_ - std::min(ended_, kMostRuns); i < ended_; ++i) {
      AddMember(trace_.jobs[by_end_[i]], at, made);
    }
    made.since = ledger::ToSeconds(kTraceStart);
    if (ended_ > kMostRuns) made.since = made.members.front().until;
    return made;
  }

  // The state when the job `next` has arrived; jobs of the last arrivals that wait are asked about.
  void TellAt(std::size_t next) {
    const Duration at = trace_.jobs[next].submit;
    Learn(at);
    std::vector<ForecastJob> jobs;
    std::vector<ForecastJob> declared;
    std::vector<std::size_t> asked;
    std::vector<std::size_t> numbers;
    forecast::RunMembers known = Past(at);
    for (std::size_t i = first_open_; i <= next; ++i) {
      const HiddenJob& job = trace_.jobs[i];
      if (*job.end <= at) {
        if (i == first_open_) ++first_open_;
        continue;
      }
      const bool runs = *job.start <= at;
      ForecastJob made;
      made.job.object = runs ? job.running : job.waiting;
      ForecastJob likewise = made;
      made.member = AddMember(job, at, known);
      const auto most = static_cast<double>(*job.key.declared);
      likewise.run = Certain(most);
      if (runs) {
        const auto elapsed = std::chrono::floor<std::chrono::seconds>(at - *job.start).count();
        likewise.left = Certain(std::max(most - static_cast<double>(elapsed), 0.0));
      } else if (Asks(i, next, at)) {
        asked.push_back(jobs.size());
        numbers.push_back(i);
      }
      jobs.push_back(std::move(made));
      declared.push_back(std::move(likewise));
    }
    if (!asked.empty()) Tell(at, known, jobs, declared, asked, numbers);
  }

  void Tell(Duration at, const forecast::RunMembers& known, const std::vector<ForecastJob>& jobs,
            const std::vector<ForecastJob>& declared, const std::vector<std::size_t>& asked,
            const std::vector<std::size_t>& numbers) {
    simulation::ForecastOptions options;
    options.world.start = kTraceStart + at;
    options.draws = options_.draws;
    options.seed = options_.seed;
    options.asked = asked;
    const simulation::RunModel model(known.members, ledger::ToSeconds(kTraceStart + at),
                                     *known.since);
    const auto arrivals = forecast::ArrivalsOf(model, known, trace_.cluster);
    options.runs = &model;
    options.arrivals = &arrivals;
    const auto forecast = simulation::MakeForecast(trace_.cluster, jobs, options);
    options.draws = 1;
    options.runs = nullptr;
    options.arrivals = nullptr;
    const auto likewise = simulation::MakeForecast(trace_.cluster, declared, options);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto& drawn = forecast.jobs[asked[i]];
      Told& told = told_.emplace_back();
      told.job = numbers[i];
      told.at = at;
      told.raw = {*drawn.At(0.1), *drawn.At(0.5), *drawn.At(0.9)};
      const HiddenJob& job = trace_.jobs[told.job];
      told.group = simulation::GroupAt(job.key.queue, at - job.submit);
      told.calibrated = corrections_.Of(told.group, told.raw);
      told.in_time = *simulation::ChanceInTime(drawn, told.raw, told.calibrated);
      told.own = OwnWaits(job.key.queue, at - job.submit);
      told.declared = *likewise.jobs[asked[i]].At(0.5);
      open_.push_back(told_.size() - 1);
    }
  }

  // What is left of the last waits of the queue that were longer than `waited`.
  StartQuantiles OwnWaits(const std::string& queue, Duration waited) const {
    const auto known = waits_.find(queue);
    if (known == waits_.end()) return {};
    std::vector<Duration> waits;
    for (const Duration wait : known->second) {
      if (wait >= waited) waits.push_back(wait - waited);
    }
    if (waits.empty()) return {waited / 10, waited, waited * 3};
    std::sort(waits.begin(), waits.end());
    const auto at = [&waits](double share) {
      return waits[static_cast<std::size_t>(share * static_cast<double>(waits.size() - 1))];
    };
    return {at(0.1), at(0.5), at(0.9)};
  }

  const HiddenTrace& trace_;
  const Options& options_;
  std::vector<std::size_t> by_end_;
  std::vector<std::size_t> by_start_;
  std::size_t ended_ = 0;
  std::size_t started_ = 0;
  std::map<std::string, std::deque<Duration>> waits_;  // by queue: those of the last starts
  std::size_t first_open_ = 0;
  Calibration calibration_;
  simulation::Corrections corrections_;  // those of the moment
  std::set<std::size_t> asked_later_;
  std::vector<Told> told_;
  std::vector<std::size_t> open_;  // indices in told_ of jobs that wait
};

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// The percentages of the starts within p10, p50 and p90.
struct Within {
  double p10 = 0;
  double p50 = 0;
  double p90 = 0;
};

template <typename QuantilesOf>
Within PrintRow(const char* name, const HiddenTrace& trace, const std::vector<Told>& told,
                QuantilesOf quantiles_of) {
  double within[3] = {0, 0, 0};
  std::vector<double> errors;
  std::vector<double> ranges;
  double loss = 0;
  for (const Told& each : told) {
    const Duration wait = *trace.jobs[each.job].start - each.at;
    const StartQuantiles quantiles = quantiles_of(each);
    const auto seconds = [](Duration span) { return std::chrono::duration<double>(span).count(); };
    for (const auto& [share, quantile] :
         {std::pair(0.1, quantiles.p10), std::pair(0.5, quantiles.p50),
          std::pair(0.9, quantiles.p90)}) {
      const double ahead = seconds(wait - quantile);
      loss += std::max(share * ahead, (share - 1) * ahead) / 3;
    }
    within[0] += wait <= quantiles.p10 ? 1 : 0;
    within[1] += wait <= quantiles.p50 ? 1 : 0;
    within[2] += wait <= quantiles.p90 ? 1 : 0;
    errors.push_back(std::abs(std::chrono::duration<double>(wait - quantiles.p50).count()));
    ranges.push_back(std::chrono::duration<double>(quantiles.p90 - quantiles.p10).count());
  }
  const double share = 100.0 / static_cast<double>(told.size());
  std::printf("%-18s %7.1f %7.1f %7.1f %14.0f %14.0f %10.0f\n", name, within[0] * share,
              within[1] * share, within[2] * share, Median(errors), Median(ranges),
              loss / static_cast<double>(told.size()));
  return {within[0] * share, within[1] * share, within[2] * share};
}

// The shares of the calibrated forecasts.
Within PrintTable(const char* name, const HiddenTrace& trace, const std::vector<Told>& told) {
  std::vector<double> waits;
  for (const Told& each : told) {
    waits.push_back(std::chrono::duration<double>(*trace.jobs[each.job].start - each.at).count());
  }
  std::printf("%s: %zu starts, median wait %.0f s\n\n", name, told.size(), Median(waits));
  std::printf("%-18s %7s %7s %7s %14s %14s %10s\n", "", "<=p10 %", "<=p50 %", "<=p90 %",
              "median error s", "p10 to p90 s", "loss s");
  PrintRow("raw", trace, told, [](const Told& each) { return each.raw; });
  const Within calibrated =
      PrintRow("calibrated", trace, told, [](const Told& each) { return each.calibrated; });
  PrintRow("queue's own waits", trace, told, [](const Told& each) { return each.own; });
  PrintRow("declared maxima", trace, told, [](const Told& each) {
    return StartQuantiles{each.declared, each.declared, each.declared};
  });
  return calibrated;
}

// How often deadlines were met, by the told chance.
void PrintDeadlines(const HiddenTrace& trace, const std::vector<Told>& told) {
  constexpr int kClasses = 10;
  struct Class {
    int jobs = 0;
    double chance = 0;  // the sum of the told ones
    int kept = 0;
  };
  std::array<Class, kClasses> classes{};
  for (const Told& each : told) {
    const HiddenJob& job = trace.jobs[each.job];
    const int place = std::min(kClasses - 1, static_cast<int>(each.in_time * kClasses));
    Class& known = classes.at(static_cast<std::size_t>(place));
    ++known.jobs;
    known.chance += each.in_time;
    known.kept += *job.end <= job.deadline ? 1 : 0;
  }
  std::printf("\ndeadlines, by the chance that was told:\n\n%8s %12s %12s\n", "jobs", "told %",
              "kept %");
  for (const Class& known : classes) {
    if (known.jobs == 0) continue;
    const double share = 100.0 / known.jobs;
    std::printf("%8d %12.1f %12.1f\n", known.jobs, known.chance * share, known.kept * share);
  }
}

// The shares of the calibrated forecasts at submission.
Within Print(const HiddenTrace& trace, std::vector<Told> told) {
  told.erase(told.begin(),
             told.begin() + static_cast<std::ptrdiff_t>(std::min(kWarmUp, told.size())));
  std::vector<Told> later;
  for (const Told& each : told) {
    if (each.group.made == simulation::ForecastGroup::Made::kLater) later.push_back(each);
  }
  std::erase_if(told, [](const Told& each) {
    return each.group.made == simulation::ForecastGroup::Made::kLater;
  });
  const Within shares = PrintTable("at submission", trace, told);
  PrintDeadlines(trace, told);
  std::printf("\n");
  if (!later.empty()) PrintTable("later, of jobs that have waited half an hour", trace, later);
  return shares;
}

constexpr int kPendingOfReclaims = 1000;

// One draw with so many pending jobs, all asked about.
void PrintPass(const Options& options, int pending, bool reclaims) {
  TraceOptions made{
      .jobs = pending + 200, .queues = 30, .names = 300, .load = 1000, .reclaims = reclaims};
  made.seed = options.seed;
  const HiddenTrace trace = MakeTrace(made);
  std::vector<ForecastJob> jobs;
  const Duration at = trace.jobs.back().submit;
  for (const HiddenJob& job : trace.jobs) {
    const bool runs = *job.start <= at;
    if (*job.end <= at) continue;
    ForecastJob& one = jobs.emplace_back();
    one.job.object = runs ? job.running : job.waiting;
    one.run = Certain(std::chrono::duration<double>(job.run).count());
    if (runs) one.left = one.run;
  }
  simulation::ForecastOptions pass;
  pass.world.start = kTraceStart + at;
  pass.draws = 1;
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    simulation::MakeForecast(trace.cluster, jobs, pass);
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - begin;
    best = i == 0 ? taken.count() : std::min(best, taken.count());
  }
  std::printf("\none draw of %zu jobs until all have started%s: %.0f ms (best of 5)\n", jobs.size(),
              reclaims ? ", in queues that take lent GPUs back" : "", best);
}

template <typename Number>
bool Read(std::string_view text, Number& number) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

bool ReadOptions(int argc, char** argv, Options& options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::string_view value = argv[i + 1];
    bool known = false;
    if (name == "--starts") known = Read(value, options.starts);
    if (name == "--draws") known = Read(value, options.draws) && options.draws > 0;
    if (name == "--seed") known = Read(value, options.seed);
    if (name == "--load") known = Read(value, options.load) && options.load > 0;
    if (name == "--most-off") known = Read(value, options.most_off) && options.most_off > 0;
    if (name == "--pending") known = Read(value, options.pending) && options.pending > 0;
    if (!known) return false;
  }
  return argc % 2 == 1;
}

int Main(int argc, char** argv) {
  Options options;
  if (!ReadOptions(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: eta_bench [--starts N] [--draws N] [--seed N] [--load SHARE] "
                 "[--pending N] [--most-off PERCENT]\n");
    return 2;
  }
  if (options.starts > 0) {
    TraceOptions made{.jobs = static_cast<int>(kJobsOfAStart * (options.starts + kWarmUp)),
                      .load = options.load};
    made.seed = options.seed;
    const HiddenTrace trace = MakeTrace(made);
    const Within shares = Print(trace, Study(trace, options).Run());
    if (options.most_off > 0) {
      const bool holds = std::abs(shares.p50 - 50) <= options.most_off &&
                         std::abs(shares.p90 - 90) <= options.most_off;
      return holds ? 0 : 1;
    }
    PrintPass(options, options.pending, false);
  }
  PrintPass(options, std::min(options.pending, kPendingOfReclaims), true);
  PrintNotesPass(options.pending);
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }

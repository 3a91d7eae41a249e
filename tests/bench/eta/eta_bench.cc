// eta_bench [--starts N] [--draws N] [--seed N] [--load SHARE] [--pending N] [--most-off PERCENT] —
// how often forecasts of starts are right, and what one costs.
//
// Jobs with hidden run-time distributions run on the real scheduler (hidden_trace.h). At every
// eighth arrival the jobs that have arrived since then and wait get a forecast from what is known
// at that moment: the runs that have ended, what runs for how long, what waits. The calibration
// knows the starts until that moment. Printed: the share of real starts within p10, p50 and p90,
// before and after the calibration, and the median error of p50, beside an estimate that takes the
// declared maxima for run times. Then the time of one draw with so many pending jobs. With
// --most-off the times are left out, and the exit code is 1 where more or fewer than 50 and 90 of
// 100 starts are within the calibrated p50 and p90, by more than PERCENT.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/calibration.h"
#include "simulation/forecast.h"
#include "simulation/standing.h"
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
  StartQuantiles raw;
  StartQuantiles calibrated;
  Duration declared{};  // the estimate from declared maxima
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
    while (ended_ < by_end_.size() && *trace_.jobs[by_end_[ended_]].end <= at) {
      const HiddenJob& job = trace_.jobs[by_end_[ended_++]];
      const auto seconds = std::chrono::floor<std::chrono::seconds>(job.run).count();
      history_.Add({.key = job.key, .seconds = seconds, .ended = true});
    }
    std::vector<Calibration::Past> waiting;
    std::erase_if(open_, [&](std::size_t index) {
      const Told& told = told_[index];
      const HiddenJob& job = trace_.jobs[told.job];
      const bool started = *job.start <= at;
      if (started) {
        calibration_.Add({told.raw, *job.start - told.at, true});
      } else {
        waiting.push_back({told.raw, at - told.at, false});
      }
      return started;
    });
    calibration_.SetWaiting(waiting);
  }

  // The state when the job `next` has arrived; jobs of the last arrivals that wait are asked about.
  void TellAt(std::size_t next) {
    const Duration at = trace_.jobs[next].submit;
    Learn(at);
    std::vector<ForecastJob> jobs;
    std::vector<ForecastJob> declared;
    std::vector<std::size_t> asked;
    std::vector<std::size_t> numbers;
    for (std::size_t i = first_open_; i <= next; ++i) {
      const HiddenJob& job = trace_.jobs[i];
      if (*job.end <= at) {
        if (i == first_open_) ++first_open_;
        continue;
      }
      const bool runs = *job.start <= at;
      ForecastJob made;
      made.job.object = runs ? job.running : job.waiting;
      made.run = history_.Of(job.key);
      ForecastJob likewise = made;
      const auto most = static_cast<double>(*job.key.declared);
      likewise.run = Certain(most);
      if (runs) {
        const auto elapsed = std::chrono::floor<std::chrono::seconds>(at - *job.start).count();
        made.left = history_.Left(job.key, elapsed);
        likewise.left = Certain(std::max(most - static_cast<double>(elapsed), 0.0));
      } else if (i > next - kEveryArrival) {
        asked.push_back(jobs.size());
        numbers.push_back(i);
      }
      jobs.push_back(std::move(made));
      declared.push_back(std::move(likewise));
    }
    if (!asked.empty()) Tell(at, jobs, declared, asked, numbers);
  }

  void Tell(Duration at, const std::vector<ForecastJob>& jobs,
            const std::vector<ForecastJob>& declared, const std::vector<std::size_t>& asked,
            const std::vector<std::size_t>& numbers) {
    simulation::ForecastOptions options;
    options.world.start = kTraceStart + at;
    options.draws = options_.draws;
    options.seed = options_.seed;
    options.asked = asked;
    const auto forecast = simulation::MakeForecast(trace_.cluster, jobs, options);
    options.draws = 1;
    const auto likewise = simulation::MakeForecast(trace_.cluster, declared, options);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto& known = forecast.jobs[asked[i]];
      Told& told = told_.emplace_back();
      told.job = numbers[i];
      told.at = at;
      told.raw = {*known.At(0.1), *known.At(0.5), *known.At(0.9)};
      told.calibrated = calibration_.Of(told.raw);
      told.declared = *likewise.jobs[asked[i]].At(0.5);
      open_.push_back(told_.size() - 1);
    }
  }

  const HiddenTrace& trace_;
  const Options& options_;
  std::vector<std::size_t> by_end_;
  std::size_t ended_ = 0;
  std::size_t first_open_ = 0;
  simulation::RunHistory history_;
  Calibration calibration_;
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
  for (const Told& each : told) {
    const Duration wait = *trace.jobs[each.job].start - each.at;
    const StartQuantiles quantiles = quantiles_of(each);
    within[0] += wait <= quantiles.p10 ? 1 : 0;
    within[1] += wait <= quantiles.p50 ? 1 : 0;
    within[2] += wait <= quantiles.p90 ? 1 : 0;
    errors.push_back(std::abs(std::chrono::duration<double>(wait - quantiles.p50).count()));
    ranges.push_back(std::chrono::duration<double>(quantiles.p90 - quantiles.p10).count());
  }
  const double share = 100.0 / static_cast<double>(told.size());
  std::printf("%-18s %7.1f %7.1f %7.1f %14.0f %14.0f\n", name, within[0] * share, within[1] * share,
              within[2] * share, Median(errors), Median(ranges));
  return {within[0] * share, within[1] * share, within[2] * share};
}

// The shares of the calibrated forecasts.
Within Print(const HiddenTrace& trace, std::vector<Told> told) {
  told.erase(told.begin(),
             told.begin() + static_cast<std::ptrdiff_t>(std::min(kWarmUp, told.size())));
  std::vector<double> waits;
  for (const Told& each : told) {
    waits.push_back(std::chrono::duration<double>(*trace.jobs[each.job].start - each.at).count());
  }
  std::printf("%zu starts, median wait %.0f s\n\n", told.size(), Median(waits));
  std::printf("%-18s %7s %7s %7s %14s %14s\n", "", "<=p10 %", "<=p50 %", "<=p90 %",
              "median error s", "p10 to p90 s");
  PrintRow("raw", trace, told, [](const Told& each) { return each.raw; });
  const Within calibrated =
      PrintRow("calibrated", trace, told, [](const Told& each) { return each.calibrated; });
  PrintRow("declared maxima", trace, told, [](const Told& each) {
    return StartQuantiles{each.declared, each.declared, each.declared};
  });
  return calibrated;
}

// One draw with so many pending jobs, all asked about.
void PrintPass(const Options& options) {
  TraceOptions made{.jobs = options.pending + 200, .queues = 30, .names = 300, .load = 1000};
  made.seed = options.seed;
  const HiddenTrace trace = MakeTrace(made);
  std::vector<ForecastJob> jobs;
  simulation::RunHistory history;
  const Duration at = trace.jobs.back().submit;
  for (const HiddenJob& job : trace.jobs) {
    const bool runs = *job.start <= at;
    if (*job.end <= at) continue;
    ForecastJob& one = jobs.emplace_back();
    one.job.object = runs ? job.running : job.waiting;
    one.run = history.Of(job.key);
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
  std::printf("\none draw of %zu jobs until all have started: %.0f ms (best of 5)\n", jobs.size(),
              best);
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
  if (options.starts == 0) {
    PrintNotesPass(options.pending);
    return 0;
  }
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
  PrintPass(options);
  PrintNotesPass(options.pending);
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }

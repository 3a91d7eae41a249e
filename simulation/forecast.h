// simulation/forecast.h — when the jobs of a cluster start: the real Scheduler in virtual time, on
// run times and capacity waits that are drawn from what is known of them.
//
//     RunModel ──runs of all jobs──┐
//     Arrivals ──jobs to come──────┴─▶ World ──▶ starts ──▶ p10, p50, p90
//                          └── many times ──┘
//
// The draws of a job depend on the seed, on the number of the draw, and on the uids of its
// Workload and of jobs that are alike: two forecasts of one cluster, before and after a change,
// share the run times of each job, and the jobs to come. The draws of a job are spread evenly over
// its distribution.
//
// Units: microseconds from the moment of the cluster. Threads: pure functions. Errors: none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "simulation/arrivals.h"
#include "simulation/cluster_objects.h"
#include "simulation/jobs.h"
#include "simulation/run_forecast.h"
#include "simulation/run_model.h"
#include "simulation/world.h"

namespace berth::simulation {

// A wait for capacity, by three quantiles; straight lines between these, from 0 to twice the last.
struct CapacityWait {
  Duration p10{};
  Duration p50{};
  Duration p90{};
  Duration At(double share) const;
};

struct ForecastJob {
  Job job;  // see simulation/present_workloads.h
  // The job in ForecastOptions::runs. nullopt, or no runs there: its run follows `run` and `left`.
  std::optional<std::size_t> member;
  std::shared_ptr<const RunForecast> run;  // forecast of a whole run; may be null for a member
  // Forecast of the remaining run time. Null when the job has not run. A run that is stopped begins
  // anew: its time so far is lost, and the whole run is ahead of it.
  std::shared_ptr<const RunForecast> left;
  std::optional<CapacityWait> capacity;  // nullopt: a job that has quota starts at once
};

// The jobs that are going to be submitted. `jobs` has a job for each member of the model that may
// come again, by its number; the others are empty.
struct ForecastArrivals {
  Arrivals arrivals;
  std::vector<Job> jobs;  // without `submit` and `run`
};

enum class ForecastUntil : std::uint8_t { kStarted, kFinished };

struct ForecastOptions {
  WorldOptions world;  // start: the moment of the cluster; no pools
  int draws = 50;
  // The draws that are made: numbers `first` to `end` - 1; `end` -1: to the last of `draws`. A part
  // of a forecast has the same draws as the whole.
  int first = 0;
  int end = -1;
  std::uint64_t seed = 1;
  ForecastUntil until = ForecastUntil::kStarted;
  const RunModel* runs = nullptr;              // null: no job has a member
  const ForecastArrivals* arrivals = nullptr;  // their model is `runs`; null: no arrivals
  // The jobs that are asked about, in ForecastUntil::kStarted; empty: all.
  std::vector<std::size_t> asked;
  // Asked before each draw; true: the forecast has the draws made so far. Null: never.
  std::function<bool()> cancelled;
};

// The results of one job in all draws.
struct JobForecast {
  // By draw: the first start; nullopt: the job never starts. A start before the moment of the
  // cluster is negative.
  std::vector<std::optional<Duration>> starts;
  std::vector<std::int32_t> preemptions;  // by draw, until the end of the run
  // The deadline of a job that waits, from the moment of the cluster; nullopt: it has none.
  std::optional<Duration> deadline;
  // By draw, of a job with a deadline: the end; nullopt: the job never ends. Empty: no deadline.
  std::vector<std::optional<Duration>> ends;
  std::string why;  // the reason in the first draw in which the job never starts
  // When the place begins that its queue keeps for the job at the moment of the cluster, in the
  // first draw; nullopt: none is kept.
  std::optional<Duration> place;

  // The start that `share` of the draws do not exceed, by nearest rank; nullopt: never.
  std::optional<Duration> At(double share) const;
  std::int64_t Started() const;  // draws
};

struct Forecast {
  std::vector<JobForecast> jobs;   // by index
  std::int64_t stopped_early = 0;  // draws in which jobs preempt one another without end
};

// `parts`: the forecasts of consecutive draws.
Forecast JoinForecasts(std::vector<Forecast> parts);

Forecast MakeForecast(const Cluster& cluster, const std::vector<ForecastJob>& jobs,
                      const ForecastOptions& options);

}  // namespace berth::simulation

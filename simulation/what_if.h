// simulation/what_if.h — the effects of a change of a cluster on its jobs: two forecasts, compared
// job by job.
//
// Both forecasts have the same draws of each job's run time (simulation/forecast.h), so that a
// difference is an effect of the change. A forecast compared with itself shows no change.
//
// Units: microseconds. Threads: pure functions. Errors: none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulation/forecast.h"

namespace berth::simulation {

enum class JobEffect : std::uint8_t {
  kNone,
  kNew,         // the job belongs to the change
  kImpossible,  // the number of draws in which it never starts is larger
  kPreempted,   // it is preempted more often
  kLater,
  kEarlier,
  kSpared,    // it is preempted less often
  kPossible,  // the number of draws in which it never starts is smaller
};
const char* ToString(JobEffect effect);  // "later", …

struct JobSide {
  std::optional<Duration> p50;    // the time of the start, from now; nullopt: never
  double chance = 0;              // the chance of a start at all: a share of the draws
  double preemptions = 0;         // mean of the draws
  std::optional<Duration> place;  // the place that its queue keeps now, from now; nullopt: none
  std::string why;                // why the job does not start in all draws; empty: it does
};

struct JobChange {
  std::shared_ptr<const api::Workload> workload;
  JobEffect effect = JobEffect::kNone;
  bool runs = false;  // when the forecasts begin
  JobSide before;     // not set for a new job
  JobSide after;
  Duration shift{};  // how much later the job starts: mean of the draws in which it starts in both
};

struct ForecastSide {
  const std::vector<ForecastJob>& jobs;
  const Forecast& forecast;  // forecast of `jobs`, until all are finished
};

// Smaller shifts count as none.
inline constexpr Duration kLeastShift = std::chrono::seconds(1);

// A row for each job of both sides, by the uid of its Workload, and for each new job, in the order
// of `after`.
std::vector<JobChange> CompareForecasts(const ForecastSide& before, const ForecastSide& after);

// Whether the job of a row is worse off; a new job is not.
bool IsWorseOff(const JobChange& change);

}  // namespace berth::simulation

// simulation/what_if.h — what a change of a cluster does to its jobs: two forecasts, job by job.
//
// Both forecasts have the same draws of each job's run time (simulation/forecast.h), so that a
// difference is the change's. A forecast compared with itself shows no change.
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
  kNew,         // the job is of the change
  kImpossible,  // it never starts in more of the draws
  kPreempted,   // it is preempted more often
  kLater,
  kEarlier,
  kSpared,    // it is preempted less often
  kPossible,  // it never starts in fewer of the draws
};
const char* ToString(JobEffect effect);  // "later", …

struct JobSide {
  std::optional<Duration> p50;  // the time of the start, from now; nullopt: never
  double chance = 0;            // the chance of a start at all: a share of the draws
  double preemptions = 0;       // mean of the draws
  std::string why;              // it does not start in all draws
};

struct JobChange {
  std::shared_ptr<const api::Workload> workload;
  JobEffect effect = JobEffect::kNone;
  bool runs = false;  // when the forecasts begin
  JobSide before;     // empty of a new job
  JobSide after;
  Duration shift{};  // how much later the job starts: mean of the draws in which it starts in both
};

struct ForecastSide {
  const std::vector<ForecastJob>& jobs;
  const Forecast& forecast;  // forecast of `jobs`, until all are finished
};

// Shifts below a second are none.
inline constexpr Duration kLeastShift = std::chrono::seconds(1);

// A row for each job of both sides, by the uid of its Workload, and for each new job, in the order
// of `after`.
std::vector<JobChange> CompareForecasts(const ForecastSide& before, const ForecastSide& after);

// Whether the job of a row is worse off; a new job is not.
bool IsWorseOff(const JobChange& change);

}  // namespace berth::simulation

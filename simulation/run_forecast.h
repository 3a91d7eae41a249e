// simulation/run_forecast.h — how long a job is going to run, from the runs that are known.
//
//     past runs ──RunHistory──▶ RunForecast of a job: a distribution, and what it is based on
//
// Runs of the same owner count most; while these are few, runs that are less alike are added, at
// less weight (RunLevel). A run that was stopped, or that goes on, counts as "longer than that"
// (provisioning/survival.h). A prior of small weight is always there. No run is longer than its
// declared maximum. What is left of a run that goes on is conditional on what it has run.
//
// Units: seconds. Threads: pure functions; a RunHistory is used by one thread. Errors: none.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/quantity.h"
#include "api/workload.h"

namespace berth::simulation {

// What makes runs alike.
struct RunKey {
  std::string queue;              // LocalQueue, as NAMESPACE/NAME
  std::string kind;               // the owner's kind; empty: a Workload without owner
  std::string name;               // the name of the owner, or of the Workload
  std::string image;              // images of the first container of each pod set; empty: unknown
  api::ResourceAmounts requests;  // the sum of all pods
  std::optional<std::int64_t> declared;  // the most that it may run
  friend bool operator==(const RunKey&, const RunKey&) = default;
};

// `job_deadline`: activeDeadlineSeconds of the Workload's Job.
RunKey RunKeyOf(const api::Workload& workload, std::optional<std::int64_t> job_deadline);
// "train" of "train-20260131-x2x9k" and of "train-17": the name without the parts at its end that
// hold digits, but for the first part.
std::string StemOf(const std::string& name);

struct PastRun {
  RunKey key;
  std::int64_t seconds = 0;
  bool ended = false;  // false: it was stopped, or goes on
};

// The runs that a forecast is made of, the most alike first.
enum class RunLevel : std::uint8_t {
  kName,      // the same queue, kind and name
  kStem,      // the same queue, kind and stem of the name
  kImage,     // the same queue, image and requests
  kRequests,  // the same queue and requests
  kDeclared,  // the same queue: the share of the declared maximum that was used
  kQueue,     // the same queue
  kPrior,     // no run is known
};
const char* ToString(RunLevel level);  // "name", "stem", …

// Quantiles at even shares, from 0 to 1.
class RunForecast {
 public:
  static constexpr std::size_t kPoints = 33;

  std::array<double, kPoints> seconds{};
  RunLevel level = RunLevel::kPrior;  // the level of the most alike runs
  std::int64_t runs = 0;              // that ended, of all levels that count
  std::optional<std::int64_t> declared;

  // The quantile of `share`, in [0, 1].
  double At(double share) const;
};

class RunHistory {
 public:
  // The last kMostRuns runs of one kind count, in the order of the calls.
  static constexpr std::size_t kMostRuns = 200;

  void Add(const PastRun& run);
  // Returns the forecast of a new run; equal keys have the same forecast.
  std::shared_ptr<const RunForecast> Of(const RunKey& key) const;
  // Returns the forecast of what is left of a run that has lasted `elapsed` seconds.
  std::shared_ptr<const RunForecast> Left(const RunKey& key, std::int64_t elapsed) const;

 private:
  struct Known {
    std::int64_t seconds = 0;
    std::int64_t declared = 0;  // 0: none
    bool ended = false;
  };
  using Runs = std::vector<std::size_t>;  // indices in runs_

  RunForecast Make(const RunKey& key, std::int64_t elapsed) const;

  std::vector<Known> runs_;
  std::map<std::string, Runs> groups_;  // by level and what is alike there
  mutable std::map<std::string, std::shared_ptr<const RunForecast>> made_;  // forecasts of new runs
};

}  // namespace berth::simulation

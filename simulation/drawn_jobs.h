// simulation/drawn_jobs.h — the jobs of one draw of a forecast: the jobs of the cluster, with run
// times and capacity waits, and the jobs to come.
//
// Draw draws the jobs of the cluster, AddArrivals puts the jobs to come among them. Both depend on
// the seed and the number of the draw alone, whatever was drawn earlier.
//
// Threads: one for each DrawnJobs. Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "simulation/forecast.h"
#include "simulation/jobs.h"
#include "simulation/run_draw.h"

namespace berth::simulation {

class DrawnJobs {
 public:
  // Both must outlive the draws.
  DrawnJobs(const std::vector<ForecastJob>& jobs, const ForecastOptions& options);

  // Skips one draw.
  void Skip();
  // Draws the run times of draw `number`; call Draw or Skip once for each number, in their order.
  void Draw(int number);
  // Puts the jobs that come within `horizon` among the others, by the time of submission.
  void AddArrivals(Duration horizon);

  const std::vector<Job>& jobs() const { return merged_; }
  // The place of a job of the cluster among jobs().
  std::size_t PlaceOf(std::size_t job) const { return places_[job]; }
  std::vector<std::size_t> PlacesOf(std::vector<std::size_t> jobs) const;

 private:
  // The shares of a job's distribution, draw by draw: the distribution is divided into `draws`
  // equal parts, and each part is used once, in an order of the job's own.
  class Shares {
   public:
    Shares(std::uint64_t seed, int draws);
    double Next();

   private:
    Random random_;
    std::uint64_t draws_;
    std::uint64_t offset_ = 0;
    std::uint64_t step_ = 1;
  };
  struct JobShares {
    Shares run;
    Shares capacity;
  };

  void DrawMembers(const std::vector<double>& shares);

  const std::vector<ForecastJob>& jobs_;
  const ForecastOptions& options_;
  std::vector<Job> drawn_;             // by job
  std::vector<std::uint64_t> hashes_;  // by job: hash of its uid
  std::vector<JobShares> shares_;      // by job
  std::vector<Duration> ran_;          // by job, until the moment of the cluster
  std::vector<std::size_t> job_of_;    // by member of the model; jobs_.size(): none
  std::vector<double> runs_;           // by member of the model: seconds, of this draw
  std::optional<RunDraw> draw_;        // nullopt: no member is drawn
  std::vector<Job> merged_;
  std::vector<std::size_t> places_;  // by job: in merged_
  int number_ = 0;
};

}  // namespace berth::simulation

// simulation/arrivals.h — the jobs that are going to be submitted, drawn from those that were.
//
//     known jobs ──batches──▶ rate by queue × profile of the week ──Poisson──▶ batches again
//
// A batch of the past (simulation/run_model.h) comes again as a whole: the same queue, shapes,
// distances and run times. The rate of each queue is the rate of its past, in which recent batches
// weigh more. All queues together have one profile of hours and of weekends; if the past is short,
// the profile is flat.
//
// Units: seconds. Threads: constant once made. Errors: none.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "simulation/run_model.h"

namespace berth::simulation {

// A member of the model that comes again.
struct Arrival {
  std::size_t member = 0;
  double submit = 0;  // from the moment of the model
};

class Arrivals {
 public:
  static constexpr std::size_t kMostArrivals = 20'000;  // the mean of a draw; bounds reach()
  // A queue with fewer past batches gets no arrivals.
  static constexpr std::size_t kFewestBatches = 5;
  static constexpr Duration kFarthest = std::chrono::hours(24 * 30);

  Arrivals() = default;  // no arrivals
  // `since`: from when on all submissions are members of `model`. `comes` says for each member
  // whether it may come again. A queue is its RunKey's.
  Arrivals(const RunModel& model, const std::vector<bool>& comes, std::int64_t since);

  // Draws the arrivals within `horizon`, in their order: batches of whole hours, so that equal
  // seeds give equal arrivals within the shorter of two horizons. The arrivals of a queue do not
  // depend on other queues.
  std::vector<Arrival> Draw(std::uint64_t seed, Duration horizon) const;
  // No arrival is drawn for a later time: the length of the known past, kFarthest at most.
  Duration reach() const { return reach_; }

 private:
  static constexpr std::size_t kHours = 24;
  struct Batch {
    std::int64_t start = 0;
    std::vector<Arrival> jobs;  // `submit`: from the start of the batch
  };
  struct Queue {
    double rate = 0;           // batches a second
    std::uint64_t stream = 0;  // its random numbers
    std::vector<Batch> batches;
    std::vector<double> weights;  // cumulated, by batch
  };

  void MakeProfile(std::int64_t since);
  void DrawQueue(const Queue& queue, Random random, std::int64_t end,
                 std::vector<Arrival>& drawn) const;

  std::int64_t now_ = 0;
  Duration reach_{};
  std::vector<Queue> queues_;
  // The rate of each hour over the mean rate: weekdays, then weekends (UTC).
  std::array<std::array<double, kHours>, 2> profile_{};
};

}  // namespace berth::simulation

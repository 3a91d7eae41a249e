// simulation/run_model.h — how long the jobs of a cluster run, learned from their runs.
//
//     members (jobs that ended, were stopped, run, wait)
//        │ by key and time of submission
//        ▼
//     urns:  batch ◀ kind ◀ submitter ◀ requests ◀ declared ◀ queue ◀ cluster ◀ prior
//
// An urn holds the known runs of jobs that are alike. Jobs whose names repeat are of one kind if
// they have the same name, other jobs if they have the same stem of the name. The run of a job is a
// run of its first urn, or, with a weight that falls as the urn fills, a run of the next one
// (partial pooling). A batch is what one submitter submits of one kind with at most kBatchGap
// between two jobs and kBatchSpan in all. Runs of a batch are alike: in the urn of its kind and in
// wider urns a batch counts for less than its number of jobs; the more alike the runs of earlier
// batches are, the less it counts. A run that was stopped is only known to be longer (E. L. Kaplan,
// P. Meier, Nonparametric estimation from incomplete observations, 1958). Older runs weigh less
// than the last ones of their urn. No run is longer than the declared maximum of its job.
//
// Units: seconds, moments since 1970. Threads: a model is constant once made. Errors: none.
// Source: Y. W. Teh, M. Jordan, M. Beal, D. Blei, Hierarchical Dirichlet Processes (2006).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulation/run_forecast.h"
#include "simulation/run_key.h"

namespace berth::simulation {

enum class RunState : std::uint8_t { kEnded, kStopped, kRuns, kWaits };

// One job.
struct RunMember {
  std::string uid;
  RunKey key;
  std::int64_t submitted = 0;
  std::int64_t until = 0;    // the end of the run; else the moment of the model
  std::int64_t seconds = 0;  // how long it ran
  // An earlier run of the job was stopped after so long: the present run is longer.
  std::int64_t at_least = 0;
  RunState state = RunState::kWaits;
};

// Known runs in the order of their length.
struct RunUrn {
  RunLevel level = RunLevel::kPrior;
  double reserve = 1;  // the weight of the next urn beside the runs of this one
  // Deviation of the logarithm of a run from that of the known run that it repeats.
  double spread = 0;
  std::vector<double> seconds;
  std::vector<double> weights;  // cumulated: of the runs up to this one
  std::int64_t ended = 0;

  double Weight() const { return weights.empty() ? 0 : weights.back(); }
  // The weight of the runs of at most `bound` seconds.
  double WeightUntil(double bound) const;
};

class RunModel {
 public:
  static constexpr std::int64_t kBatchGap = 3600;
  static constexpr std::int64_t kBatchSpan = 6 * 3600;
  static constexpr std::int64_t kLongest = 365LL * 24 * 3600;

  RunModel() = default;  // knows nothing
  // `since`: every job that ran at that moment or later is a member.
  RunModel(std::vector<RunMember> members, std::int64_t now, std::int64_t since = 0);

  const std::vector<RunMember>& members() const { return members_; }
  std::int64_t now() const { return now_; }
  // How long the member had run when the known past began.
  std::int64_t EntryOf(std::size_t member) const;
  // The members that run or wait, in the order in which runs are drawn: the jobs that have run
  // longest first, then by submission.
  const std::vector<std::size_t>& open() const { return open_; }
  std::size_t batch_of(std::size_t member) const { return batch_of_[member]; }
  // The numbers of the urns of a member, the most alike first.
  const std::vector<std::uint32_t>& urns_of(std::size_t member) const {
    return chains_[batch_of_[member]];
  }
  const RunUrn& urn(std::uint32_t number) const { return urns_[number]; }
  std::size_t urn_count() const { return urns_.size(); }
  // The correlation of the logarithms of runs of one batch, beyond that of their kind.
  double batch_likeness() const { return likeness_; }

  // The time that the run of an open member is known to exceed.
  double FloorOf(std::size_t member) const;
  // The forecast of the whole run of the member.
  RunForecast Whole(std::size_t member) const;
  // The forecast of the remaining run time of a member that runs.
  RunForecast Left(std::size_t member) const;

 private:
  struct Builder;

  // `floor`: the whole run is longer; `elapsed`: the forecast is of the run time after it.
  RunForecast Make(std::size_t member, double floor, double elapsed) const;

  std::int64_t now_ = 0;
  std::int64_t since_ = 0;
  double likeness_ = 0.5;
  std::vector<RunMember> members_;
  std::vector<std::size_t> open_;
  std::vector<std::size_t> batch_of_;               // by member
  std::vector<std::vector<std::uint32_t>> chains_;  // by batch
  std::vector<RunUrn> urns_;
};

// A run about which nothing is known: one of five equally likely runs, which are shares of the
// declared maximum if there is one.
class PriorRun {
 public:
  explicit PriorRun(std::optional<std::int64_t> declared);
  // The share of runs longer than `elapsed`.
  double ShareAbove(double elapsed) const;
  // The run at `share` of those longer than `elapsed`. If none is longer, the remaining time is
  // exponentially distributed, with a median of half of `elapsed`.
  double At(double share, double elapsed) const;

 private:
  std::array<double, 5> seconds_{};
};

}  // namespace berth::simulation

// admission/policies/run_estimates.h — how long workloads are expected to run.
//
// A workload without a declared maximum: the median of the last runs of the same group, else of the
// same ClusterQueue and shape, else of the same ClusterQueue.
//
// A workload with a declared maximum: the geometric mean of the last runs of the same group and of
// kRunsOfMaximum runs as long as the maximum,
//
//     maximum × exp(Σ ln(run / maximum) / (runs + kRunsOfMaximum))
//
// The runs that have ended are the shortest ones of a batch that still runs. An estimate that is
// too short lets a long workload start before many short ones, so that the maximum counts for more
// than the runs.
//
// A group has the workloads of one submitter (annotation berth.dev/user), LocalQueue, shape and
// declared maximum: the runs of one submitter are more alike than those of the queue. The waiting
// workloads of a group get a new estimate when the estimate of the group changes by an eighth.
//
// Threads: one. Errors: none.
// Source: D. Tsafrir, Y. Etsion, D. Feitelson, Backfilling using system-generated predictions
// rather than user runtime estimates (2007): the last runs of the user. kRunsOfMaximum was chosen
// on generated traces (tools/bench-decisions).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "queue/queue_set.h"

namespace berth::admission {

class RunEstimates {
 public:
  static constexpr std::size_t kMostRuns = 200;  // the last ones of a shape, or of a queue
  static constexpr std::size_t kFewestRuns = 5;  // fewer runs give no estimate
  static constexpr std::size_t kMostRunsOfGroup = 20;
  static constexpr std::size_t kFewestRunsOfGroup = 3;
  static constexpr std::size_t kRunsOfMaximum = 40;
  static constexpr std::size_t kMostShapes = 20'000;
  static constexpr std::size_t kMostGroups = 20'000;
  // The ends of runs of a group between two new estimates of its waiting workloads: at least one
  // for so many of these. So an end costs at most so many estimates in the mean.
  static constexpr std::size_t kEstimatesOfAnEnd = 64;

  // What makes runs alike.
  struct Kind {
    queue::ClusterQueueId queue = -1;
    std::uint64_t shape = 0;
    std::uint64_t group = 0;    // not 0
    std::int64_t declared = 0;  // the maximum that all of the group declare, in seconds; 0: none
  };
  static Kind KindOf(queue::ClusterQueueId queue, const queue::WorkloadInfo& info);

  // A workload ran for so long and succeeded or failed by itself.
  void Add(const Kind& kind, std::int64_t seconds);
  // nullopt: no maximum is declared, and too few runs have ended.
  std::optional<std::int64_t> SecondsOf(const Kind& kind) const;

  // A workload of the group waits, or has ceased to wait.
  void Await(std::uint64_t group, queue::WorkloadId workload);
  void Leave(std::uint64_t group, queue::WorkloadId workload);
  // The waiting workloads of the groups whose estimates have changed since the last call.
  std::vector<queue::WorkloadId> TakeChanged();

 private:
  using Runs = std::deque<std::int64_t>;
  struct Group {
    Runs runs;
    std::set<queue::WorkloadId> waiting;
    std::int64_t declared = 0;  // the maximum that its runs declared
    std::int64_t told = 0;      // the estimate when TakeChanged returned the group
    std::size_t ends = 0;       // runs that have ended since
  };
  static std::optional<std::int64_t> EstimateOf(const Group& group);
  Group* GroupFor(std::uint64_t number);  // null: there are too many groups

  std::map<queue::ClusterQueueId, Runs> by_queue_;
  // Has at most kMostShapes shapes. If it is full, the runs of further shapes count for their queue
  // alone.
  std::map<std::pair<queue::ClusterQueueId, std::uint64_t>, Runs> by_shape_;
  // Has at most kMostGroups groups. If it is full, further groups have no estimates of their own.
  std::map<std::uint64_t, Group> groups_;
  std::set<std::uint64_t> changed_;
};

}  // namespace berth::admission

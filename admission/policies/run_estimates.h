// admission/policies/run_estimates.h — how long workloads run that declare no maximum: the median
// of the last runs of the same group, else of the same ClusterQueue and shape, else of the same
// ClusterQueue.
//
// A group has the workloads of one submitter (annotation berth.dev/user), LocalQueue and shape: the
// runs of one submitter are more alike than those of the queue. The waiting workloads of a group
// get a new estimate when the median of the group changes by an eighth.
//
// Threads: one. Errors: none.
// Source: D. Tsafrir, Y. Etsion, D. Feitelson, Backfilling using system-generated predictions
// rather than user runtime estimates (2007): the last runs of the user.
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
  static constexpr std::size_t kMostShapes = 20'000;
  static constexpr std::size_t kMostGroups = 20'000;
  // The ends of runs of a group between two new estimates of its waiting workloads: at least one
  // for so many of these. So an end costs at most so many estimates in the mean.
  static constexpr std::size_t kEstimatesOfAnEnd = 64;

  // What makes runs alike.
  struct Kind {
    queue::ClusterQueueId queue = -1;
    std::uint64_t shape = 0;
    std::uint64_t group = 0;
  };
  // Not 0.
  static std::uint64_t GroupOf(const queue::WorkloadInfo& info);

  // A workload ran for so long and succeeded or failed by itself.
  void Add(const Kind& kind, std::int64_t seconds);
  // nullopt: too few runs have ended.
  std::optional<std::int64_t> SecondsOf(const Kind& kind) const;

  // A workload of the group waits, or has ceased to wait.
  void Await(std::uint64_t group, queue::WorkloadId workload);
  void Leave(std::uint64_t group, queue::WorkloadId workload);
  // The waiting workloads of the groups whose medians have changed since the last call.
  std::vector<queue::WorkloadId> TakeChanged();

 private:
  using Runs = std::deque<std::int64_t>;
  struct Group {
    Runs runs;
    std::set<queue::WorkloadId> waiting;
    std::int64_t told = 0;  // the median when TakeChanged returned the group
    std::size_t ends = 0;   // runs that have ended since
  };
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

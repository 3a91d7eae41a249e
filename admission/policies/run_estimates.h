// admission/policies/run_estimates.h — how long workloads run that declare no maximum: the median
// of the last runs of the same queue and shape, else of the same queue.
//
// Threads: one. Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "queue/queue_set.h"

namespace berth::admission {

class RunEstimates {
 public:
  static constexpr std::size_t kMostRuns = 200;  // the last ones of a shape, or of a queue
  static constexpr std::size_t kFewestRuns = 5;  // fewer runs give no estimate
  static constexpr std::size_t kMostShapes = 20'000;

  // A workload of the queue ran for so long and succeeded or failed by itself.
  void Add(queue::ClusterQueueId queue, std::uint64_t shape, std::int64_t seconds);
  // nullopt: too few runs have ended.
  std::optional<std::int64_t> SecondsOf(queue::ClusterQueueId queue, std::uint64_t shape) const;

 private:
  using Runs = std::deque<std::int64_t>;
  static std::optional<std::int64_t> MedianOf(const Runs& runs);

  std::map<queue::ClusterQueueId, Runs> by_queue_;
  // Has at most kMostShapes shapes. If it is full, the runs of further shapes count for their queue
  // alone.
  std::map<std::pair<queue::ClusterQueueId, std::uint64_t>, Runs> by_shape_;
};

}  // namespace berth::admission

// admission/policies/queue_waits.h — how long the last workloads of each queue have waited, and the
// time after which a queue with `berth.dev/reserve-after: auto` keeps a place:
//
//     the wait that 997 of 1,000 do not exceed + half of the median of WorkloadInfo::run_seconds
//
// Because of the first part no place is kept during a usual wait; in the second part running
// workloads end. Both numbers were chosen on generated traces (tools/bench-decisions). Both are
// measured in the queue, so that queues of minutes and queues of days get times of their own.
//
// Threads: one. Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include "base/clock.h"
#include "queue/queue_set.h"

namespace berth::admission {

class QueueWaits {
 public:
  static constexpr std::size_t kMost = 4000;   // only the last waits of a queue count
  static constexpr std::size_t kFewest = 100;  // fewer waits: the time is kUnknown
  static constexpr std::size_t kNewOnes = 50;  // more waits: the time is computed again
  static constexpr Duration kUnknown = std::chrono::hours(72);

  // A workload got its quota after `wait`.
  void Add(queue::ClusterQueueId queue, Duration wait, std::int64_t run_seconds);
  Duration ReserveAfter(queue::ClusterQueueId queue);

 private:
  struct Start {
    Duration wait{};
    std::int64_t run_seconds = 0;
  };
  struct Waits {
    std::deque<Start> starts;
    std::size_t new_ones = 0;
    Duration after = kUnknown;
  };
  std::map<queue::ClusterQueueId, Waits> queues_;
};

}  // namespace berth::admission

// admission/pending_order.h — the workloads that wait in a ClusterQueue, in the order in which the
// scheduler tries them, page by page.
//
//     PendingSnapshot(scheduler, queue) O(n)  ─▶  Sort O(n log n)  ─▶  pages
//     the scheduler's thread                     any one thread       any thread
//
// The positions of a LocalQueue count its own workloads. The cost of a page is the number of
// workloads up to its end.
//
// Threads: above. Errors: none.
// Source: Kueue pkg/visibility (limit and offset), KEP-168-2.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "admission/scheduler.h"
#include "api/visibility.h"
#include "base/clock.h"
#include "queue/ordering.h"

namespace berth::admission {

class PendingSnapshot {
 public:
  // The place that the queue keeps for the workload.
  struct Kept {
    WallTime from{};
    Duration after{};
  };
  struct Waiting {
    queue::PendingRank rank;  // contains the UID of `object`
    std::shared_ptr<const api::Workload> object;
    std::optional<Kept> kept;
  };
  // Changes when the waiting workloads of the queue, or the kept places, do: a snapshot of the same
  // version is equal.
  using Version = std::pair<std::uint64_t, std::uint64_t>;
  static Version VersionOf(const Scheduler& scheduler, ClusterQueueId queue);

  PendingSnapshot(const Scheduler& scheduler, ClusterQueueId queue);

  void Sort();
  const std::vector<Waiting>& waiting() const { return waiting_; }

  // `page`: a negative offset counts as 0, a limit outside 0..api::kMostPendingWorkloads counts as
  // the nearest of these two numbers.
  std::vector<api::PendingWorkload> Page(api::PendingPage page) const;
  std::vector<api::PendingWorkload> PageOf(const api::ObjectKey& local_queue,
                                           api::PendingPage page) const;

 private:
  static api::PendingWorkload EntryOf(const Waiting& waiting, std::int64_t in_cluster_queue,
                                      std::int64_t in_local_queue);

  std::vector<Waiting> waiting_;
};

}  // namespace berth::admission

// queue/ordering.h — the order of workloads in one ClusterQueue, and the instant from which a
// workload counts as waiting.
//
// Order in a ClusterQueue: effective priority falling, then the queue-order instant rising,
// then the UID. (The sticky preemptor of a BestEffortFIFO queue, queue/pending_queue.h, comes
// first.)
//
// Threads: pure functions. Errors: none.
// Source: Kueue pkg/workload (Ordering, EffectivePriority), KEP-349.
#pragma once

#include <cstdint>
#include <string>

#include "api/workload.h"
#include "base/clock.h"

namespace berth::queue {

enum class RequeuingTimestamp : std::uint8_t { kEviction, kCreation };  // waitForPodsReady

struct OrderingOptions {
  RequeuingTimestamp pods_ready_requeuing = RequeuingTimestamp::kEviction;
  // False: a workload preempted while other queues borrowed is ordered just behind that instant.
  bool priority_sorting_within_cohort = true;
  bool priority_boost = false;  // the annotation kueue.x-k8s.io/priority-boost counts
};

// The instant from which the workload counts as waiting: its creation, or its last eviction. A
// workload with the memory of a ProvisioningPolicy keeps its place when a check evicts the
// workload.
WallTime QueueOrderTime(const api::Workload& workload, const OrderingOptions& options);

// spec.priority, 0 if absent, plus the boost if options.priority_boost.
std::int64_t EffectivePriority(const api::Workload& workload, const OrderingOptions& options);

// The fields that the order compares. The string of `uid` must outlive the key.
struct OrderKey {
  std::int64_t priority = 0;
  WallTime queued_at{};
  const std::string* uid = nullptr;
};

// Whether `a` is ordered before `b`; a total order, since UIDs are distinct.
inline bool Before(const OrderKey& a, const OrderKey& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.queued_at != b.queued_at) return a.queued_at < b.queued_at;
  return *a.uid < *b.uid;
}

// The place of a workload in one queue, with what may put it before others.
struct PendingRank {
  bool before_usage = false;  // a preemptor before all others
  double usage = 0;           // the usage of its LocalQueue, where the queue orders by usage
  bool sticky = false;        // a preemptor before those of equal usage
  OrderKey key;
};

inline bool Before(const PendingRank& a, const PendingRank& b) {
  if (a.before_usage != b.before_usage) return a.before_usage;
  if (a.usage != b.usage) return a.usage < b.usage;
  if (a.sticky != b.sticky) return a.sticky;
  return Before(a.key, b.key);
}

}  // namespace berth::queue

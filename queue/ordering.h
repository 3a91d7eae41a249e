// queue/ordering.h — who stands before whom: the order of one ClusterQueue, and the instant from
// which a workload counts as waiting.
//
// Order inside a ClusterQueue: effective priority falling, then the queue-order instant rising,
// then the UID. (The sticky preemptor of a BestEffortFIFO queue, queue/pending_queue.h, stands
// before all.)
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
  // Off: who was preempted while somebody else borrowed stands just behind that instant.
  bool priority_sorting_within_cohort = true;
  bool priority_boost = false;  // the annotation kueue.x-k8s.io/priority-boost counts
};

// Since when the workload counts as waiting: its creation, or the eviction that sent it back.
WallTime QueueOrderTime(const api::Workload& workload, const OrderingOptions& options);

// spec.priority, 0 without one, plus the boost where that counts.
std::int64_t EffectivePriority(const api::Workload& workload, const OrderingOptions& options);

// What the order looks at. `uid` outlives the key.
struct OrderKey {
  std::int64_t priority = 0;
  WallTime queued_at{};
  const std::string* uid = nullptr;
};

// Whether `a` stands before `b`; a total order, UIDs being distinct.
inline bool Before(const OrderKey& a, const OrderKey& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.queued_at != b.queued_at) return a.queued_at < b.queued_at;
  return *a.uid < *b.uid;
}

}  // namespace berth::queue

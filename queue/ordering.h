// queue/ordering.h — the order of workloads in one ClusterQueue, and the instant from which a
// workload counts as waiting.
//
// Order in a ClusterQueue: effective priority falling, then (FairByUser) the user's share of the
// queue rising, then the place rising, then the UID. (The sticky preemptor of a BestEffortFIFO
// queue, queue/pending_queue.h, comes first.) The place is an instant:
//
//     Fifo, FairByUser  the queue-order instant
//     ShortestFirst     the queue-order instant + kShortestFirstWeight × the expected run time
//     any, with deadlines   the queue-order instant of a workload with a deadline is replaced by its
//                       latest start (deadline - expected run time), at least the least slack of
//                       the queue behind the queue-order instant, minus kUsualSlack
//     kept              the queue-order instant - a thousand years: workloads for which the queue
//                       keeps a place (admission/policies/kept_places.h); the share does not count
//
// So with ShortestFirst a workload is overtaken for a bounded time. The passage of time changes no
// place: a place changes only with the workload, the order, or a kept place.
//
// Threads: pure functions. Errors: none.
// Source: Kueue pkg/workload (Ordering, EffectivePriority), KEP-349.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "api/queue_policy.h"
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
// workload whose time slice has expired waits from its preemption. A workload with the memory of a
// ProvisioningPolicy keeps its place when a check evicts the workload.
WallTime QueueOrderTime(const api::Workload& workload, const OrderingOptions& options);

// spec.priority, 0 if absent, plus the boost if options.priority_boost.
std::int64_t EffectivePriority(const api::Workload& workload, const OrderingOptions& options);

// How much later than in the order of arrival a workload has its turn, for each second that it is
// expected to run. Measured on generated traces (tools/bench-decisions).
inline constexpr int kShortestFirstWeight = 4;
// The expected run time of a workload that declares none, where no run like it has ended.
inline constexpr std::int64_t kUnknownRunSeconds = 24 * 3600;

// The place of a workload for which its queue keeps one: before all others of its priority.
WallTime KeptPlaceOf(WallTime queued_at);
// The slack of a workload without a deadline, where deadlines move workloads: a deadline is worth
// at most so much waiting.
inline constexpr Duration kUsualSlack = std::chrono::hours(24);
inline constexpr WallTime kNoDeadline = WallTime::max();

// The rules of a queue for the places of its workloads.
struct PlaceRules {
  api::QueueOrder order = api::QueueOrder::kFifo;
  Duration least_slack{};  // 0: deadlines do not count
  friend bool operator==(const PlaceRules&, const PlaceRules&) = default;
};
// The facts of a workload from which its place is computed.
struct PlaceFacts {
  WallTime queued_at{};
  std::int64_t run_seconds = 0;  // expected
  WallTime deadline = kNoDeadline;
};
// The place of a workload for which its queue keeps none.
WallTime PlaceOf(const PlaceRules& rules, const PlaceFacts& facts);

// The lower bound that every priority reaches.
inline constexpr std::int64_t kEveryPriority = std::numeric_limits<std::int64_t>::min();

// The fields that the order compares. The string of `uid` must outlive the key.
struct OrderKey {
  std::int64_t priority = 0;
  WallTime place{};
  const std::string* uid = nullptr;
};

// Whether `a` is ordered before `b`; a total order, since UIDs are distinct.
inline bool Before(const OrderKey& a, const OrderKey& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.place != b.place) return a.place < b.place;
  return *a.uid < *b.uid;
}

// The rank of a workload in one queue: its place, and the facts that may put it before others.
struct PendingRank {
  bool before_usage = false;  // a preemptor before all others
  double usage = 0;           // the usage of its LocalQueue, where the queue orders by usage
  bool sticky = false;        // a preemptor before workloads of equal usage
  double user_share = 0;      // its user's share, where users take turns; below 0: kept place
  OrderKey key;
};

inline bool Before(const PendingRank& a, const PendingRank& b) {
  if (a.before_usage != b.before_usage) return a.before_usage;
  if (a.usage != b.usage) return a.usage < b.usage;
  if (a.sticky != b.sticky) return a.sticky;
  if (a.key.priority != b.key.priority) return a.key.priority > b.key.priority;
  if (a.user_share != b.user_share) return a.user_share < b.user_share;
  return Before(a.key, b.key);
}

}  // namespace berth::queue
